// SPDX-License-Identifier: Apache-2.0
// The console's requests and elements. All that it shows is inserted as text, never as HTML.
'use strict';

const API = new URL('../', document.baseURI);
const PAGE = 25;

// ---------------------------------------------------------------- the session

// Only for this tab, and gone when it is closed. The key is sent in a header and is in no address.
const session = {
    key: sessionStorage.getItem('neoapi-key'),
    organization: sessionStorage.getItem('neoapi-organization'),
    principal: null,
    areas: new Set(), // with events or webhooks that the key can read
};

function remember(name, value) {
    session[name] = value;
    if (value) sessionStorage.setItem(`neoapi-${name}`, value);
    else sessionStorage.removeItem(`neoapi-${name}`);
}

// Of a token, GET /me does not list scopes: what it may not do is refused.
function mayWrite(resource) {
    const { scopes } = session.principal;
    return !scopes || scopes.includes(`${resource}:write`);
}

// ---------------------------------------------------------------- requests

class Problem extends Error {
    constructor(status, body, retryAfter) {
        super(body.detail ?? `The service answered with status ${status}.`);
        Object.assign(this, { status, code: body.code, errors: body.errors, requestId: body.request_id, retryAfter });
    }
}

function addressOf(path, params) {
    const url = new URL(path, API);
    for (const [name, value] of Object.entries(params ?? {}))
        for (const one of [value ?? ''].flat()) if (one !== '') url.searchParams.append(name, one);
    return url;
}

function headersOf(body, isRepeatable) {
    const headers = { 'X-API-Key': session.key };
    if (session.organization) headers['X-Organization-ID'] = session.organization;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (isRepeatable) headers['Idempotency-Key'] = newKey();
    return headers;
}

// Unlike randomUUID, this also exists over plain HTTP.
function newKey() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    return hex.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
}

// Returns the parsed body and the headers, or throws a Problem.
async function request(path, { method = 'GET', params, body, signal, isRepeatable } = {}) {
    const response = await fetch(addressOf(path, params), {
        method, signal, headers: headersOf(body, isRepeatable), cache: 'no-store', credentials: 'omit', redirect: 'error',
        body: body === undefined ? undefined : JSON.stringify(body),
    }).catch((error) => {
        if (error.name === 'AbortError') throw error;
        throw new Problem(0, { detail: 'The service cannot be reached. Check the network and try again.' });
    });
    const parsed = response.status === 204 ? {} : await response.json().catch(() => ({}));
    signal?.throwIfAborted();
    const retryAfter = Number(response.headers.get('Retry-After')) || 0;
    if (!response.ok) throw new Problem(response.status, parsed, retryAfter);
    return { body: parsed, headers: response.headers, retryAfter };
}

// ---------------------------------------------------------------- elements

// h('a', {href: '#/', class: 'x', onclick: f}, 'text', element, null)
function h(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
        if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
        else if (value === true) element.setAttribute(key, '');
        else if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

const SAID_MS = 10000;
let silence = 0;

function say(text) {
    const said = document.querySelector('#said');
    if (!said) return;
    said.textContent = text;
    clearTimeout(silence);
    silence = setTimeout(() => { said.textContent = ''; }, SAID_MS);
}

// Chromium takes the focus from an element that is disabled or replaced.
function focusAgain(focused) {
    if (document.activeElement !== document.body) return;
    const same = [...document.querySelectorAll('#view :is(button, a)')].find((one) => one.textContent === focused.textContent);
    (focused.isConnected ? focused : same ?? document.querySelector('#view h2'))?.focus({ preventScroll: true });
}

// Replaces what is in `place` if it looks different, without moving the focus: a click on a replaced button would be lost.
function refill(place, ...nodes) {
    const made = h('div', {}, ...nodes), focused = document.activeElement;
    if (made.innerHTML === place.innerHTML) return;
    place.replaceChildren(...made.childNodes);
    focusAgain(focused);
}

// A button that cannot be pressed again while it works, and says what went wrong.
function button(text, act, more) {
    const made = h('button', { type: 'button', ...more, onclick: async () => {
        made.disabled = true;
        try {
            await act();
        } catch (error) {
            fail(error);
        } finally {
            made.disabled = false;
            focusAgain(made);
        }
    } }, text);
    return made;
}

function errorBox(error) {
    const link = error.code && h('a', { href: `errors#${error.code}` }, error.code);
    return h('div', { class: 'failure', role: 'alert' }, h('p', {}, error.message,
        error.retryAfter ? ` Try again in ${error.retryAfter} second${error.retryAfter === 1 ? '' : 's'}.` : ''),
        link && h('p', {}, link, error.requestId ? ` · ${error.requestId}` : ''));
}

// Shows an error above the view; a later one replaces it.
function fail(error) {
    if (error.name === 'AbortError') return;
    if (error.status === 401) {
        signOut(error.message);
        return;
    }
    document.querySelector('#problem')?.replaceChildren(errorBox(error));
}

function clearFailure() {
    document.querySelector('#problem')?.replaceChildren();
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'long' }); // with the zone

function time(text) {
    return text ? h('time', { datetime: text, title: text }, clock.format(new Date(text))) : '–';
}

function badge(text, kind) {
    return h('span', { class: `badge ${kind}` }, text);
}

function code(text) {
    return h('code', {}, text);
}

function pre(value, label) {
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
    return h('pre', { tabindex: '0', 'aria-label': label }, code(text));
}

// On a phone each cell has its column's name.
function table(caption, columns, rows) {
    const head = h('tr', {}, columns.map((column) => h('th', { scope: 'col' }, column)));
    const body = rows.map((cells) => h('tr', {}, cells.map((cell, at) => h('td', { 'data-label': columns[at] }, cell))));
    return h('table', {}, h('caption', {}, caption), h('thead', {}, head), h('tbody', {}, body));
}

function facts(...pairs) {
    return h('dl', { class: 'facts' }, pairs.filter((pair) => pair && pair[1]).map(([name, value]) =>
        h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}

// ---------------------------------------------------------------- forms

let fields = 0;

function field(label, input) {
    input.id = `field-${++fields}`;
    return h('div', { class: 'field' }, h('label', { for: input.id }, label), input);
}

function choice(values, chosen) {
    return h('select', {}, values.map(([value, text]) => h('option', { value, selected: value === chosen }, text)));
}

// `submit` may return a promise. The page is never sent: form-action forbids it.
function form(attributes, submit, ...children) {
    return h('form', { ...attributes, onsubmit: async (event) => {
        event.preventDefault();
        clearFailure();
        try {
            await submit();
        } catch (error) {
            fail(error);
        }
    } }, ...children);
}

// Asks before an action. `act` may return an element to show in place of the question.
function ask(title, text, label, act, ...more) {
    const close = () => dialog.close(), opener = document.activeElement;
    const content = h('div', {}, h('p', {}, text), ...more);
    const buttons = h('div', { class: 'buttons' }, h('button', { type: 'submit', class: 'main' }, label),
        h('button', { type: 'button', onclick: close }, 'Cancel'));
    const answer = async () => {
        content.querySelector('.failure')?.remove();
        try {
            const shown = await act();
            if (!shown) return close();
            content.replaceChildren(shown);
            buttons.replaceChildren(h('button', { type: 'button', class: 'main', onclick: close }, 'Close'));
            return buttons.firstChild.focus();
        } catch (error) {
            if (error.status === 401) close();
            return error.status === 401 ? fail(error) : content.append(errorBox(error));
        }
    };
    const heading = h('h3', { id: 'dialog-title' }, title);
    const dialog = h('dialog', { 'aria-labelledby': 'dialog-title', onclose: () => {
        dialog.remove();
        focusAgain(opener);
    } },
        form({}, answer, heading, content, buttons));
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
}

// ---------------------------------------------------------------- pages of a list

// Shows one page at a time, whatever the list's length. The cursors of the pages before it are kept, to go back. Returns the element,
// and `show`, which loads the page again.
function pager(path, params, render, signal, empty = 'None.') {
    const element = h('div', { class: 'list' }), cursors = [undefined];
    const show = async () => {
        const cursor = cursors.at(-1);
        element.setAttribute('aria-busy', 'true');
        try {
            const { body } = await request(path, { params: { limit: PAGE, ...params, cursor }, signal });
            if (cursor === cursors.at(-1))
                refill(element, body.items.length ? render(body.items) : h('p', {}, empty), turn(body.page_info));
        } finally {
            element.setAttribute('aria-busy', 'false');
        }
    };
    const turn = (info) => h('div', { class: 'buttons' },
        cursors.length > 1 && button('Newer', () => { cursors.pop(); return show(); }),
        info.has_next_page && button('Older', () => { cursors.push(info.end_cursor); return show(); }));
    show().catch(fail);
    return { element, show };
}
