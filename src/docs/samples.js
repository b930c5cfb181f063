// SPDX-License-Identifier: Apache-2.0
// Adds a copy button to every code block, shows one language of each sample and makes wide blocks focusable. Pages are complete
// without it.
'use strict';

const samples = [...document.querySelectorAll('.samples')];

function addButton(bar, text, act) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = text;
    button.addEventListener('click', () => act(button));
    bar.append(button);
    return button;
}

// Unlike the Clipboard API, this needs no permission and works over plain HTTP. If it fails, the text stays selected.
function copy(block, button) {
    getSelection().selectAllChildren(block.querySelector('code'));
    if (!document.execCommand('copy')) return;
    getSelection().removeAllRanges();
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
}

// A sample without the language shows its first one.
function show(language) {
    for (const sample of samples) {
        const blocks = [...sample.querySelectorAll('pre')];
        const { label } = (blocks.find((block) => block.dataset.label === language) ?? blocks[0]).dataset;
        for (const block of blocks) block.hidden = block.dataset.label !== label;
        for (const tab of sample.querySelectorAll('[aria-pressed]'))
            tab.setAttribute('aria-pressed', String(tab.textContent === label));
    }
}

// For all pages. Browsers can refuse to store anything.
function remember(language) {
    try { localStorage.setItem('language', language); } catch { /* it is forgotten with the page */ }
}

function remembered() {
    try { return localStorage.getItem('language'); } catch { return null; }
}

// Samples above this one change their height, so the page is scrolled back to the button.
function choose(button) {
    const top = button.getBoundingClientRect().top;
    show(button.textContent);
    remember(button.textContent);
    scrollBy({ top: button.getBoundingClientRect().top - top, behavior: 'instant' });
}

function addLabels(bar, box, blocks) {
    const names = blocks.map((block) => block.dataset.label ?? '');
    if (!box.matches('.samples')) return bar.append(...names);
    for (const name of names) addButton(bar, name, choose).setAttribute('aria-pressed', 'false');
}

function addBar(box) {
    const bar = document.createElement('div');
    const blocks = [...box.querySelectorAll('pre')];
    bar.className = 'bar';
    addLabels(bar, box, blocks);
    const button = addButton(bar, 'Copy', () => copy(blocks.find((block) => !block.hidden), button));
    button.className = 'copy';
    button.setAttribute('aria-live', 'polite');
    box.prepend(bar);
}

// A command that wraps breaks only at blanks; CSS cannot forbid breaks after hyphens.
function keepWords(code) {
    code.replaceChildren(...code.textContent.split(/(\s+)/).map((text) => {
        if (!text.includes('-')) return text;
        const word = document.createElement('span');
        word.className = 'word';
        word.textContent = text;
        return word;
    }));
}

// Not every browser lets the keyboard scroll a block that is wider than the page.
const observer = new ResizeObserver((entries) => {
    for (const { target } of entries)
        if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
        else target.removeAttribute('tabindex');
});

for (const block of document.querySelectorAll('.page pre:not(.samples pre)')) {
    const box = document.createElement('div');
    block.replaceWith(box);
    box.append(block);
    box.className = 'code';
    addBar(box);
}
for (const sample of samples) {
    sample.classList.add('code');
    addBar(sample);
}
show(remembered());
for (const code of document.querySelectorAll('.ways pre code')) keepWords(code);
for (const block of document.querySelectorAll('.page pre')) observer.observe(block);
