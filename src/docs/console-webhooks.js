// SPDX-License-Identifier: Apache-2.0
// Subscriptions, their deliveries, and what can be done with them.
'use strict';

// ---------------------------------------------------------------- what fails and why

const ERRORS = {
    timeout: 'the receiver did not respond in time',
    connection_failed: 'the receiver refused the connection or is not running',
    connection_closed: 'the receiver closed the connection before it had responded',
    no_public_address: 'the host name has no public address',
    blocked_address: 'the address of the receiver is not public',
    address_invalid: 'the URL is not one of http or https',
    name_not_resolved: 'the host name cannot be resolved',
    certificate_not_trusted: 'the certificate of the receiver is not valid for its name, has expired or is not trusted',
    tls_failed: 'no encrypted connection could be established',
    response_too_large: 'the response was too large',
    response_invalid: 'the response was not HTTP',
};

function reason(delivery) {
    if (delivery.error) return ERRORS[delivery.error] ?? `the attempt ended with ${delivery.error}`;
    const status = delivery.http_status;
    if (!status) return 'no attempt has ended yet';
    if (status >= 300 && status < 400) return `the receiver redirected (${status}), which is not followed`;
    if (status === 401 || status === 403) return `the receiver refused the request (${status}): it may check another secret`;
    if (status === 404) return 'the receiver has no such address (404)';
    return `the receiver responded with status ${status}`;
}

const MAX_EXCERPT = 200;

const DISABLED = {
    owner: 'It was paused by a request.',
    gone: 'It is disabled because the receiver responded with 410 (gone).',
    failing: 'It is disabled because all attempts had failed for five days.',
};

async function explainHealthy({ id, limited_until, paused_until, last_success_at, filters }, signal) {
    if (new Date(limited_until) > new Date())
        return `The hourly limit is reached. The next delivery is sent at ${clock.format(new Date(limited_until))}.`;
    if (new Date(paused_until) > new Date()) return `The receiver asked to wait until ${clock.format(new Date(paused_until))}.`;
    if (last_success_at) return 'Nothing fails.';
    const { body } = await request(`webhooks/${id}/deliveries`, { params: { limit: 1 }, signal });
    if (body.items.length) return 'Nothing fails.';
    return `Nothing was sent yet: no event of its types has ${filters ? 'matched its filters' : 'happened'} while it was active.`;
}

// The beginning of what the receiver responded last.
function excerpt(delivery) {
    const text = delivery?.attempts.at(-1)?.response_excerpt;
    return text ? [' Its response: ', h('q', {}, text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)} …` : text)] : [];
}

// A delivery whose last attempt failed, with its attempts: one of the newest that wait, or of those that have failed.
async function lastFailure(id, signal) {
    const path = `webhooks/${id}/deliveries`;
    const isBad = (one) => one.error || (one.http_status && (one.http_status < 200 || one.http_status > 299));
    for (const status of ['pending', 'failed']) {
        const { body } = await request(path, { params: { limit: PAGE, status }, signal });
        const bad = body.items.find(isBad);
        if (bad) return (await request(`${path}/${bad.id}`, { signal })).body;
    }
    return null;
}

// Why a subscription fails or sends nothing, as the children of an element.
async function explain(subscription, signal) {
    const { id, health: state, disabled_reason: cause, failing_since: since } = subscription;
    if (state === 'healthy') return [await explainHealthy(subscription, signal)];
    if (cause === 'owner') return [DISABLED.owner];
    const bad = await lastFailure(id, signal);
    if (!cause) return [`Failing since ${clock.format(new Date(since))}: ${bad ? reason(bad) : 'the last attempt failed'}.`, ...excerpt(bad)];
    return [DISABLED[cause] ?? 'It is inactive.', bad && cause === 'failing' ? ` At the end ${reason(bad)}.` : '', ...excerpt(bad)];
}

const HEALTHS = { healthy: 'good', failing: 'bad', disabled: 'bad' };

function health({ health: state, disabled_reason: reason, disabled_at: at }) {
    return h('p', {}, badge(state, reason === 'owner' ? 'off' : HEALTHS[state] ?? 'off'), at && state === 'disabled' ? [' since ', time(at)] : '');
}

function nameOf({ description, url }) {
    return description ?? url;
}

function codes(names) {
    return names.flatMap((name) => [code(name), ' ']);
}

function subscriptionCard(subscription, why) {
    const { id, description, url, events } = subscription;
    return h('li', { class: 'card' }, h('h3', {}, h('a', { href: `#/webhooks/${id}` }, nameOf(subscription))), health(subscription), why,
        description ? h('p', { class: 'mono dim' }, url) : '', h('p', { class: 'dim' }, codes(events)));
}

// Those that fail first, then those that are paused. They are explained one after the other, because concurrent requests are limited.
function subscriptionCards(items, signal) {
    const rank = ({ health: state, disabled_reason: cause }) => (state === 'healthy' ? 2 : cause === 'owner' ? 1 : 0);
    const sorted = [...items].sort((a, b) => rank(a) - rank(b)), whys = sorted.map(() => h('p', { class: 'why' }, '…'));
    const explainAll = async () => {
        for (const [at, one] of sorted.entries()) whys[at].replaceChildren(...await explain(one, signal));
    };
    explainAll().catch(fail);
    return h('ul', { class: 'cards' }, sorted.map((one, at) => subscriptionCard(one, whys[at])));
}

// ---------------------------------------------------------------- actions

function secretOnce(secret, note) {
    return h('div', {}, h('p', {}, note), field('Secret', h('input', { type: 'text', readonly: true, value: secret, spellcheck: 'false' })));
}

async function recoverAll(path, body, note) {
    let recovered = 0, position;
    do {
        const { body: done } = await request(`${path}/recover`, { method: 'POST', body: { ...body, position }, isRepeatable: true });
        recovered += done.recovered;
        position = done.is_complete ? undefined : done.position;
        note.textContent = `${recovered} events …`;
    } while (position);
    return recovered;
}

// When the present outage began, or the last one, which only the event log knows.
async function outageStart({ id, failing_since: failing, disabled_at: disabled }, signal) {
    if (failing ?? disabled) return failing ?? disabled;
    if (!session.areas.has('events')) return null;
    const params = { resource_id: id, type: ['webhook.disabled', 'webhook.failing'], limit: 1 };
    const [last] = (await request('events', { params, signal })).body.items;
    return last && (last.payload.failing_since ?? last.payload.disabled_at);
}

// How many deliveries since a time have failed or wait. What has no delivery is found only by the recovery itself.
async function countUnsent(path, since, signal) {
    const totals = await Promise.all(['failed', 'pending'].map(async (status) => {
        const { headers } = await request(`${path}/deliveries`, { params: { status, created_gte: since, limit: 1, count: true }, signal });
        return headers.get('X-Total-Count');
    }));
    return `Deliveries since ${clock.format(new Date(since))}: ${totals[0]} failed, ${totals[1]} pending. `
        + 'Events without a delivery are counted when they are sent.';
}

const HOUR_MS = 3600000;
const PERIODS = [[1, 'Last hour'], [24, 'Last day'], [168, 'Last week'], [720, 'Last 30 days']];

function hoursBefore(at, hours) {
    return new Date(new Date(at) - hours * HOUR_MS).toISOString();
}

async function askRecovery(subscription, refresh, signal) {
    const path = `webhooks/${subscription.id}`, start = await outageStart(subscription, signal);
    const periods = PERIODS.map(([hours, text]) => [hoursBefore(Date.now(), hours), text]);
    // An event is older than its first failed attempt.
    if (start) periods.unshift([hoursBefore(start, 1), 'Since before the failures']);
    const since = choice(periods, periods[start ? 0 : 1][0]), note = h('p', { role: 'status' });
    const count = () => countUnsent(path, since.value, signal).then((text) => { note.textContent = text; }, fail);
    since.addEventListener('change', count);
    const dialog = ask('Recover missed events', 'Sends the events that have not arrived: their deliveries have failed or wait, or they have none, '
        + 'because the subscription was inactive. What has arrived is not sent again.', 'Recover', async () => {
        const recovered = await recoverAll(path, { since: since.value }, note);
        const events = `${recovered} event${recovered === 1 ? '' : 's'}`;
        return h('p', { role: 'status' }, subscription.is_active ? `${events} ${recovered === 1 ? 'is' : 'are'} being sent.`
            : `${events} will be sent when the subscription is resumed.`);
    }, field('Period', since), note);
    dialog.addEventListener('close', () => refresh().catch(fail));
    await count();
}

const OVERLAPS = [['0', 'none: the former key is no longer used'], ['24', '1 day'], ['72', '3 days'], ['168', '7 days']];

function askNewKey(path, refresh) {
    const hours = choice(OVERLAPS, '24');
    ask('Rotate the key', 'Deliveries are signed with a new key. During the overlap they are signed with the former one as well.', 'Rotate', async () => {
        await request(`${path}/rotate-key`, { method: 'POST', body: { overlap_hours: Number(hours.value) }, isRepeatable: true });
        await refresh();
        say('The key is rotated.');
    }, field('Overlap', hours));
}

function askDeletion(path, url) {
    ask('Delete the subscription', `Nothing more is sent to ${new URL(url).host}. What waits is not sent, and its deliveries are no longer shown.`,
        'Delete', async () => {
            await request(path, { method: 'DELETE' });
            say('The subscription is deleted.');
            location.hash = '#/';
        });
}

const TEST_POLL_S = 0.5, MAX_TEST_POLLS = 30;

// Waits for the first attempt.
async function testResult(path, signal) {
    for (let polls = 0; polls < MAX_TEST_POLLS; polls++) {
        const { body } = await request(path, { signal });
        if (body.status === 'success') return `The test has arrived: the receiver responded with status ${body.http_status}.`;
        if (body.status === 'failed' || body.error || body.http_status) return `The test has failed: ${reason(body)}.`;
        await pause(TEST_POLL_S, signal);
    }
    return 'The test still waits to be sent.';
}

// `refresh` shows the subscription and its deliveries again.
function actions(subscription, refresh, signal) {
    const path = `webhooks/${subscription.id}`, { is_active: isActive } = subscription;
    const set = async (active) => {
        await request(path, { method: 'PATCH', body: { is_active: active } });
        await refresh();
        say(active ? 'Resumed. What waited is being sent; recover what happened meanwhile.' : 'Paused.');
    };
    const pause = () => ask('Pause the subscription', 'Deliveries wait until it is resumed. Events in the meantime can be recovered.',
        'Pause', () => set(false));
    const rotate = async () => secretOnce((await request(`${path}/rotate-secret`, { method: 'POST' })).body.secret,
        'The new secret is shown only now. For 24 hours deliveries are signed with the old one as well.');
    return h('div', { class: 'buttons' }, isActive ? '' : button('Resume', () => set(true), { class: 'main' }),
        button('Send test', async () => {
            if (!isActive) return say('Resume the subscription first: nothing is sent while it is disabled.');
            const { body } = await request(`${path}/test`, { method: 'POST', isRepeatable: true });
            say('The test is being sent.');
            say(await testResult(`${path}/deliveries/${body.id}`, signal));
            await refresh();
        }),
        button('Change …', () => { location.hash = `#/${path}/change`; }),
        button('Recover …', () => askRecovery(subscription, refresh, signal)), isActive ? button('Pause', pause) : '',
        button('Rotate secret …', () => ask('Rotate the secret', 'The receiver must know the new secret within 24 hours.', 'Rotate', rotate)),
        subscription.public_key && subscription.asymmetric_signature ? button('Rotate key …', () => askNewKey(path, refresh)) : '',
        button('Delete …', () => askDeletion(path, subscription.url)));
}

// ---------------------------------------------------------------- a subscription

// What a subscription has in a field of the form.
function shown({ kind, values, text }, value) {
    if (kind === 'flag') return value && text;
    if (kind === 'pairs' && value) return codes(Object.keys(value));
    if (Array.isArray(value)) return codes(value);
    if (typeof value === 'object') return code(JSON.stringify(value));
    return values?.find(([name]) => name === value)?.[1] ?? value;
}

const STATES = { success: 'good', failed: 'bad', pending: 'off' };

// The result of the last attempt is not that of a pending delivery.
function outcome({ status, error, http_status: last = '' }) {
    const result = String(error ?? last);
    return [badge(status, STATES[status] ?? 'off'), ' ', status === 'pending' && result ? `last attempt: ${result}` : result];
}

// Whether one of them is expected to have ended soon.
function isBeingSent(items) {
    return items.some((one) => one.status === 'pending' && !(new Date(one.next_attempt_at) > Date.now() + REFRESH_S * 1000));
}

function resourceLink(id) {
    return session.areas.has('events') ? h('a', { href: `#/events?resource_id=${id}`, class: 'mono' }, id) : code(id);
}

function deliveryTable(items, isActive) {
    return table('Deliveries, newest first', ['Created', 'Event', 'Resource', 'Status', 'Attempts', 'Next'], items.map((one) => [
        h('a', { href: `#/webhooks/${one.subscription_id}/${one.id}` }, time(one.created_at)), code(one.event_type),
        one.resource_id ? resourceLink(one.resource_id) : '–', outcome(one), String(one.attempt_count),
        isActive || one.status !== 'pending' ? time(one.next_attempt_at) : 'when it is resumed']));
}

const REFRESH_S = 3;

// `isActive()` says whether the subscription is.
function deliveryList(id, isActive, signal) {
    const status = choice([['', 'any'], ['failed', 'failed'], ['pending', 'pending'], ['success', 'success']], '');
    const type = h('input', { type: 'text', placeholder: 'broker.*', spellcheck: 'false' });
    const resource = h('input', { type: 'text', placeholder: 'brk_…', spellcheck: 'false' });
    const since = h('input', { type: 'datetime-local' });
    const place = h('div', {});
    let list, newest;
    const render = (items) => {
        newest = items;
        return deliveryTable(items, isActive());
    };
    const show = () => {
        const created = since.value ? new Date(since.value).toISOString() : '';
        const params = { status: status.value, event_type: type.value.trim(), resource_id: resource.value.trim(), created_gte: created };
        list = pager(`webhooks/${id}/deliveries`, params, render, signal, 'No delivery matches.');
        place.replaceChildren(list.element);
    };
    const filters = form({ class: 'filters', 'aria-label': 'Filter deliveries' }, show, field('Status', status), field('Event', type),
        field('Resource', resource), field('Since (your time)', since), h('button', { type: 'submit' }, 'Filter'),
        button('Refresh', () => list.show()));
    status.addEventListener('change', show);
    show();
    return { element: h('section', { 'aria-label': 'Deliveries' }, h('h3', {}, 'Deliveries'), filters, place),
        refresh: () => list.show(), isMoving: () => isActive() && isBeingSent(newest) };
}

// Refreshes while deliveries are being sent.
async function followDeliveries(list, refresh, signal) {
    while (!signal.aborted) {
        await pause(REFRESH_S, signal);
        if (signal.aborted || document.hidden || !list.isMoving()) continue;
        try {
            await refresh();
        } catch (error) {
            if (!mayPass(error)) throw error;
        }
    }
}

async function subscriptionView(view, [id], signal) {
    const head = h('div', {});
    let subscription;
    const redraw = async () => {
        subscription = (await request(`webhooks/${id}`, { signal })).body;
        const why = h('p', { class: 'why' }, await explain(subscription, signal));
        refill(head, health(subscription), why, mayWrite('webhooks') ? actions(subscription, refresh, signal) : '',
            facts(['Id', code(id)], ['Last success', subscription.last_success_at && time(subscription.last_success_at)],
                ...FIELDS.map((row) => [row.label, shown(row, valueAt(subscription, row.name))]),
                ['Public key', subscription.public_key && code(subscription.public_key)]));
    };
    const refresh = async () => {
        await redraw();
        await list.refresh();
    };
    await redraw();
    const list = deliveryList(id, () => subscription.is_active, signal), name = nameOf(subscription);
    document.title = `${name} · Console`;
    view.append(heading(name), head, list.element);
    followDeliveries(list, refresh, signal).catch(fail);
}

// ---------------------------------------------------------------- a delivery

function attemptPart(attempt) {
    const result = attempt.http_status ? `status ${attempt.http_status}` : ERRORS[attempt.error] ?? attempt.error ?? 'in progress';
    const title = h('p', {}, h('strong', {}, `Attempt ${attempt.number}`), ': ', result, ' · ', time(attempt.started_at),
        ` · ${attempt.duration_ms} ms`);
    const excerpt = attempt.response_excerpt;
    return h('li', { class: 'card' }, title, excerpt ? pre(excerpt, `Response body of attempt ${attempt.number}`) :
        h('p', { class: 'dim' }, 'The response had no body.'));
}

// The body of a subscription that has chosen no other form.
function sentBody(delivery) {
    const { id, event_type, created_at, payload } = delivery;
    return { id, event_type, created_at, payload };
}

function otherForm(subscription) {
    const chosen = [subscription.payload === 'thin' && 'thin payloads', subscription.fields && 'some fields', subscription.batch && 'batches',
        subscription.include?.length && subscription.include.join(' and ')].filter(Boolean);
    return chosen.length ? h('p', { class: 'dim' }, `The subscription has chosen ${chosen.join(', ')}: it was sent in that form.`) : '';
}

async function deliveryView(view, [id, deliveryId], signal) {
    const path = `webhooks/${id}/deliveries/${deliveryId}`;
    const [{ body }, { body: subscription }] = await Promise.all([path, `webhooks/${id}`].map((one) => request(one, { signal })));
    const retry = async () => {
        const { body: made } = await request(`${path}/retry`, { method: 'POST', isRepeatable: true });
        say('It is sent again as a new delivery.');
        location.hash = `#/webhooks/${id}/${made.id}`;
    };
    const waits = body.status === 'pending' && !subscription.is_active ? 'It is sent when the subscription is resumed. ' : '';
    view.append(heading(`Delivery of ${body.event_type}`),
        h('p', {}, h('a', { href: `#/webhooks/${id}` }, 'All deliveries'), ` of ${nameOf(subscription)}`), h('p', {}, outcome(body)),
        body.status === 'success' ? '' : h('p', { class: 'why' }, waits, `${sentence(reason(body))}.`, excerpt(body)),
        facts(['Id', code(body.id)], ['Event', code(body.event_id)], ['Resource', body.resource_id && resourceLink(body.resource_id)],
            ['Created', time(body.created_at)],
            ['Next attempt', body.next_attempt_at && time(body.next_attempt_at)]),
        h('div', { class: 'buttons' }, mayWrite('webhooks') && button('Retry', retry),
            button('Refresh', () => route())),
        h('h3', {}, 'Attempts'),
        body.attempts.length ? h('ol', { class: 'cards' }, body.attempts.map(attemptPart)) : h('p', {}, 'None yet.'),
        h('h3', {}, 'Request body'), otherForm(subscription), pre(sentBody(body), 'Request body'));
}

function sentence(text) {
    return text[0].toUpperCase() + text.slice(1);
}
