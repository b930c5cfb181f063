// SPDX-License-Identifier: Apache-2.0
// The form of an operation's page. It stores nothing in the browser, and sends requests to this host only.
'use strict';

// Links to an operation of earlier versions: reference#/Brokers/createBroker.
const earlier = /^#\/[^/]+\/(\w+)$/.exec(location.hash);
if (earlier && document.querySelector(`main a[href="${earlier[1]}"]`)) location.replace(earlier[1]);

function values(form, place) {
    return [...form.querySelectorAll(`[data-in=${place}]`)].filter((input) => input.value !== '');
}

function makeRequest(form) {
    let path = form.dataset.path;
    for (const input of values(form, 'path')) path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
    // A comma separates the values of a filter; encoded it would be part of one.
    const query = new URLSearchParams(values(form, 'query').map((input) => [input.name, input.value])).toString().replaceAll('%2C', ',');
    const headers = new Headers(values(form, 'header').map((input) => [input.name, input.value]));
    if (form.key.value) headers.set('X-API-Key', form.key.value);
    if (form.body) headers.set('Content-Type', 'application/json');
    return new Request(`../${path}${query ? `?${query}` : ''}`,
        { method: form.dataset.method, headers, body: form.body?.value, credentials: 'omit' });
}

function pretty(text) {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

function show(place, status, text) {
    const line = document.createElement('p');
    const block = document.createElement('pre');
    const code = document.createElement('code');
    line.textContent = status;
    code.textContent = text;
    block.tabIndex = 0;
    block.append(code);
    place.replaceChildren(line, ...text ? [block] : []);
}

async function send(form) {
    const place = form.querySelector('.result');
    try {
        const response = await fetch(makeRequest(form));
        const type = response.headers.get('Content-Type') ?? '';
        show(place, `${response.status} ${response.statusText}`, /json|text|yaml/.test(type) ? pretty(await response.text()) : type);
    } catch (error) {
        show(place, 'The request failed.', error.message);
    }
}

for (const form of document.querySelectorAll('form.send')) {
    form.hidden = false;
    form.addEventListener('submit', (event) => {
        event.preventDefault();
        send(form);
    });
}
