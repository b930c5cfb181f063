// SPDX-License-Identifier: Apache-2.0
// The console: signing in, the overview, and the views by address.
'use strict';

const root = document.querySelector('#console');
let leaving = new AbortController(); // ends the requests of the view that is left

function heading(text) {
    return h('h2', { tabindex: '-1' }, text);
}

// ---------------------------------------------------------------- signing in

function signOut(message) {
    leaving.abort();
    for (const name of ['key', 'organization']) remember(name, null);
    session.principal = null;
    signIn(message);
}

const SCOPES = [
    ['webhooks:read', 'to see subscriptions and their deliveries'],
    ['webhooks:write', 'to create, change, test and recover them'],
    ['properties:read', 'and others to see the events of these resources'],
];

function signIn(message) {
    const key = h('input', { type: 'password', required: true, autocomplete: 'off', spellcheck: 'false', placeholder: 'nbr_…' });
    const submit = async () => {
        remember('key', key.value.trim());
        await begin();
    };
    root.replaceChildren(h('div', { id: 'problem' }, message ? errorBox({ message }) : ''),
        h('p', {}, 'Shows what happens with your integration: limits, subscriptions and their deliveries, events as they happen, and requests '
            + 'that were refused. It uses only the public API and shows what your key may read.'),
        form({ class: 'sign-in' }, submit, field('API key or personal access token', key), h('button', { type: 'submit', class: 'main' }, 'Sign in')),
        h('p', {}, 'What it needs:'),
        h('ul', {}, SCOPES.map(([scope, text]) => h('li', {}, code(scope), ` ${text}`))),
        h('p', { class: 'dim' }, 'The key stays in this tab and is forgotten when it is closed.'));
    key.focus();
}

// Whether the key may read it. Of a token, GET /me does not say it.
async function isReadable(path) {
    try {
        await request(path, { params: { limit: 1 } });
        return true;
    } catch (error) {
        if (error.status === 403) return false;
        throw error;
    }
}

// Whether the same request may succeed later.
function mayPass(error) {
    return error.status === 0 || error.status >= 500 || error.status === 429;
}

async function begin() {
    try {
        session.principal = (await request('me')).body;
        const { scopes, organization_id, allowed_organization_ids } = session.principal;
        if (!session.organization && allowed_organization_ids?.length > 1) remember('organization', organization_id);
        const mayRead = (names) => names.some((name) => scopes.includes(`${name}:read`));
        const readable = scopes?.filter((scope) => /:read(_masked)?$/.test(scope));
        session.areas = new Set();
        if (scopes ? mayRead(['webhooks']) : await isReadable('webhooks')) session.areas.add('webhooks');
        if (session.areas.has('webhooks') && mayWrite('webhooks')) session.areas.add('webhooks:write');
        if (scopes ? readable.length : await isReadable('events')) session.areas.add('events');
    } catch (error) {
        if (mayPass(error)) return showRetry(error);
        return signOut(error.message);
    }
    showFrame();
    return route();
}

function showRetry(error) {
    root.replaceChildren(errorBox(error), h('div', { class: 'buttons' }, button('Try again', begin), button('Sign out', () => signOut())));
}

// ---------------------------------------------------------------- the frame

function organizations() {
    const ids = session.principal.allowed_organization_ids ?? [];
    if (ids.length < 2) return h('span', { class: 'mono' }, session.principal.organization_id);
    const select = choice(ids.map((id) => [id, id]), session.organization);
    select.setAttribute('aria-label', 'Organization');
    select.addEventListener('change', () => { remember('organization', select.value); begin().catch(fail); });
    return select;
}

const TABS = [['#/', 'Overview'], ['#/events', 'Events', 'events'], ['#/refused', 'Refused requests']];

function showFrame() {
    const { role, email, principal_id } = session.principal;
    const tabs = TABS.filter(([, , area]) => !area || session.areas.has(area));
    root.replaceChildren(
        h('div', { class: 'who' }, organizations(), h('span', { class: 'dim' }, email ?? role ?? ''), h('span', { class: 'mono dim' }, principal_id),
            button('Sign out', () => signOut())),
        h('nav', { class: 'tabs', 'aria-label': 'Console' }, tabs.map(([href, text]) => h('a', { href }, text))),
        h('p', { id: 'said', role: 'status' }), h('div', { id: 'problem' }), h('div', { id: 'view' }));
}

// ---------------------------------------------------------------- the overview

const LIMITS = {
    requests: 'Requests', concurrent_requests: 'Requests in progress', subscriptions: 'Subscriptions',
    idempotency_bytes: 'Bytes stored with idempotency keys', deliveries_per_hour: 'Deliveries to a receiver',
};

function period(seconds) {
    if (!seconds) return '';
    const [size, unit] = [[86400, 'day'], [3600, 'hour'], [60, 'minute'], [1, 'second']].find(([size]) => seconds % size === 0);
    return seconds === size ? ` per ${unit}` : ` per ${seconds / size} ${unit}s`;
}

function limitRow(one) {
    const text = `${(one.used ?? '–').toLocaleString()} of ${one.limit.toLocaleString()}${period(one.window_seconds)}`;
    const meter = one.used === undefined ? '' : h('meter', { min: 0, max: one.limit, value: one.used, high: one.limit * 0.8, 'aria-label': LIMITS[one.name] ?? one.name });
    return h('div', {}, h('dt', {}, LIMITS[one.name] ?? one.name), h('dd', {}, one.used === undefined ?
        `${one.limit.toLocaleString()}${period(one.window_seconds)}` : text, meter));
}

async function limitsPart(signal) {
    const { body } = await request('me/limits', { signal });
    const limits = body.items.filter((one) => one.limit);
    if (session.areas.has('webhooks')) {
        const { headers } = await request('webhooks', { params: { limit: 1, count: true }, signal });
        const subscriptions = limits.find((one) => one.name === 'subscriptions');
        if (subscriptions) subscriptions.used = Number(headers.get('X-Total-Count'));
    }
    return [h('h3', {}, 'Limits'), limits.length ? h('dl', { class: 'facts limits' }, limits.map(limitRow)) : h('p', {}, 'The plan has no limits.')];
}

const MAX_PAGE = 100; // as many as a request may list, so that those that fail come first

async function overviewView(view, _, signal) {
    const limits = h('section', {});
    view.append(heading('Overview'));
    if (session.areas.has('webhooks')) {
        const list = pager('webhooks', { limit: MAX_PAGE }, (items) => subscriptionCards(items, signal), signal,
            ['There is no subscription yet. ', h('a', { href: 'webhooks' }, 'How webhooks work')]);
        view.append(h('section', {}, h('h3', {}, 'Subscriptions'), h('div', { class: 'buttons' },
            session.areas.has('webhooks:write') && h('a', { href: '#/webhooks/new' }, 'New subscription'), button('Refresh', list.show)),
        list.element));
    } else view.append(h('p', { class: 'dim' }, 'This key cannot read subscriptions. That needs the scope ', code('webhooks:read'), '.'));
    view.append(limits);
    limits.append(...await limitsPart(signal));
}

// ---------------------------------------------------------------- addresses

const VIEWS = [
    [/^#?\/?$/, overviewView, 'Overview'],
    [/^#\/webhooks\/(?:new|(whs_\w+)\/change)$/, formView, 'Subscription', 'webhooks:write'],
    [/^#\/webhooks\/(whs_\w+)$/, subscriptionView, 'Subscription', 'webhooks'],
    [/^#\/webhooks\/(whs_\w+)\/(whd_\w+)$/, deliveryView, 'Delivery', 'webhooks'],
    [/^#\/events$/, eventsView, 'Events', 'events'],
    [/^#\/refused$/, refusalsView, 'Refused requests'],
];

function markTab(path) {
    for (const link of root.querySelectorAll('.tabs a')) {
        if (link.getAttribute('href') === path) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
    }
}

// Shows the view of the address. The focus follows, so that screen readers begin there, unless it was moved meanwhile.
async function route() {
    const focused = document.activeElement;
    const [path, query] = (location.hash || '#/').split('?');
    const [, show, title] = VIEWS.find(([pattern, , , area]) => pattern.test(path) && (!area || session.areas.has(area))) ?? VIEWS[0];
    const match = VIEWS.find(([, one]) => one === show)[0].exec(path) ?? [];
    const view = document.querySelector('#view');
    leaving.abort();
    leaving = new AbortController();
    clearFailure();
    view.replaceChildren();
    markTab(path);
    document.title = `${title} · Console`;
    try {
        await show(view, match.slice(1), leaving.signal, new URLSearchParams(query));
    } catch (error) {
        fail(error);
        if (mayPass(error)) document.querySelector('#problem')?.append(h('div', { class: 'buttons' }, button('Try again', route)));
    }
    if ([focused, document.body].includes(document.activeElement)) view.querySelector('h2')?.focus({ preventScroll: true });
}

addEventListener('hashchange', () => { if (session.principal) route(); });
if (session.key) begin();
else signIn();
