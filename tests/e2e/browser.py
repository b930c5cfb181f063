# SPDX-License-Identifier: Apache-2.0
"""Runs a headless Chromium with Selenium. It can connect to this host only."""

import json
import os
import subprocess

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from wait import TIMEOUT_S, eventually

OPTIONS = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
           "--no-proxy-server", "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--disable-extensions",
           "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.2"]
WIDE, DESKTOP, PHONE = (1440, 900), (1280, 900), (390, 844)
THEMES = {"desktop": (DESKTOP, False), "desktop-dark": (DESKTOP, True), "phone": (PHONE, False), "phone-dark": (PHONE, True)}
# Not innerWidth: on a phone that of a page that is too wide is the page's.
FITS_WIDTH = "const { scrollWidth, clientWidth } = document.documentElement; return scrollWidth <= clientWidth"
# The lowest contrast of any visible text, and that text (WCAG 2.1, 1.4.3: 4.5 to 1).
LOWEST_CONTRAST = """
const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
const background = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const color = numbers(getComputedStyle(e).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color;
  }
  return [255, 255, 255];
};
let lowest = [99, ''];
for (const element of document.querySelectorAll('body *')) {
  const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join('');
  if (!text || !element.checkVisibility()) continue;
  const pair = [luminance(numbers(getComputedStyle(element).color)), luminance(background(element))].sort((a, b) => b - a);
  const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
  if (contrast < lowest[0]) lowest = [contrast, text];
}
return lowest;
"""


def has_sandbox():
    """Whether Chromium can confine its processes: not as root, and not without user namespaces, as in many containers."""
    return os.geteuid() != 0 and subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode == 0


class Browser:
    """browser.open(url); browser.find(css), find_all(css): visible elements; browser.run(javascript, …)."""

    def __init__(self, place):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        options.ignore_local_proxy_environment_variables()
        for option in [*OPTIONS, f"--user-data-dir={place}/profile", *([] if has_sandbox() else ["--no-sandbox"])]:
            options.add_argument(option)
        options.set_capability("acceptInsecureCerts", True)  # the certificate is of the test's CA
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service("/usr/bin/chromedriver", log_path=f"{place}/chromedriver.log")
        self.driver = webdriver.Chrome(service=service, options=options)
        self.driver.set_page_load_timeout(TIMEOUT_S)
        self.driver.set_script_timeout(TIMEOUT_S)

    def close(self):
        self.driver.quit()

    def set_theme(self, size=DESKTOP, is_dark=False):
        """Sets the viewport and the colour scheme of the next page."""
        width, height = size
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]})

    def open(self, url):
        self.clear_logs()
        self.driver.get("about:blank")  # so that the page is loaded even if only the fragment differs
        self.driver.get(url)

    def find_all(self, css):
        return [one for one in self.driver.find_elements(By.CSS_SELECTOR, css) if one.is_displayed()]

    def find(self, css):
        """Waits for the first visible one."""
        found = self.driver.find_elements
        return eventually(lambda: next((one for one in found(By.CSS_SELECTOR, css) if one.is_displayed()), None), css)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def clear_logs(self):
        self.driver.get_log("browser")
        self.driver.get_log("performance")

    def console(self):
        """The console messages since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """The URLs requested since the page was opened, without data URLs."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("data:", "about:"))]

    def screenshot(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(path))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(tmp_path_factory.mktemp("browser"))
    try:
        yield one
    finally:
        one.close()
