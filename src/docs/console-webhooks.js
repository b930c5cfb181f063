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

// One sentence about a subscription. The last attempts are in its newest deliveries, or in those that have failed.
async function explain(subscription, signal) {
    if (subscription.health === 'healthy') return explainHealthy(subscription, signal);
    if (subscription.health === 'disabled' && subscription.disabled_reason !== 'failing')
        return DISABLED[subscription.disabled_reason] ?? 'It is inactive.';
    const path = `webhooks/${subscription.id}/deliveries`;
    const isBad = (one) => one.error || (one.http_status && (one.http_status < 200 || one.http_status > 299));
    for (const status of ['pending', 'failed']) {
        const { body } = await request(path, { params: { limit: PAGE, status }, signal });
        const bad = body.items.find(isBad);
        if (bad && subscription.health === 'disabled') return `${DISABLED.failing} At the end ${reason(bad)}.`;
        if (bad) return `Failing since ${clock.format(new Date(subscription.failing_since))}: ${reason(bad)}.`;
    }
    return subscription.health === 'disabled' ? DISABLED.failing : 'The last attempt failed.';
}

const HEALTHS = { healthy: 'good', failing: 'bad', disabled: 'bad' };

function health({ health: state, disabled_reason: reason, disabled_at: at }) {
    return h('p', {}, badge(state, reason === 'owner' ? 'off' : HEALTHS[state] ?? 'off'), at && state === 'disabled' ? [' since ', time(at)] : '');
}

function subscriptionCard(subscription, signal) {
    const why = h('p', { class: 'why' }, '…');
    explain(subscription, signal).then((text) => { why.textContent = text; }, fail);
    return h('li', { class: 'card' },
        h('h3', {}, h('a', { href: `#/webhooks/${subscription.id}` }, subscription.description ?? subscription.url)), health(subscription), why,
        h('p', { class: 'dim' }, subscription.description ? `${subscription.url}: ` : '', subscription.events.join(', ')));
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
    return h('p', { role: 'status' }, `${recovered} event${recovered === 1 ? ' is' : 's are'} sent again.`);
}

function askRecovery(path, redraw) {
    const hours = choice([['1', 'the last hour'], ['24', 'the last day'], ['168', 'the last week'], ['720', 'the last 30 days']], '24');
    const note = h('p', {});
    const dialog = ask('Recover missed events', 'Sends the events again that have not arrived. What has arrived is not sent.', 'Recover', () => {
        const since = new Date(Date.now() - Number(hours.value) * 3600000).toISOString();
        return recoverAll(path, { since }, note);
    }, field('Events of', hours), note);
    dialog.addEventListener('close', redraw);
}

const OVERLAPS = [['0', 'none: the former key is no longer used'], ['24', '1 day'], ['72', '3 days'], ['168', '7 days']];

function askNewKey(path, redraw) {
    const hours = choice(OVERLAPS, '24');
    ask('Rotate the key', 'Deliveries are signed with a new key. During the overlap they are signed with the former one as well.', 'Rotate', async () => {
        await request(`${path}/rotate-key`, { method: 'POST', body: { overlap_hours: Number(hours.value) }, isRepeatable: true });
        say('The key is rotated.');
        await redraw();
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

function actions(subscription, redraw, redrawList, signal) {
    const path = `webhooks/${subscription.id}`;
    const set = async (active) => {
        await request(path, { method: 'PATCH', body: { is_active: active } });
        say(active ? 'Resumed. What waited is being sent; recover what happened meanwhile.' : 'Paused.');
        await redraw();
    };
    const pause = subscription.is_active
        ? button('Pause', () => ask('Pause the subscription', 'Deliveries wait until it is resumed. Events in the meantime can be recovered.',
            'Pause', () => set(false)))
        : button('Resume', () => set(true));
    const rotate = async () => secretOnce((await request(`${path}/rotate-secret`, { method: 'POST' })).body.secret,
        'The new secret is shown only now. For 24 hours deliveries are signed with the old one as well.');
    return h('div', { class: 'buttons' },
        button('Send test', async () => {
            if (!subscription.is_active) return say('Resume the subscription first: nothing is sent while it is disabled.');
            const { body } = await request(`${path}/test`, { method: 'POST', isRepeatable: true });
            say('The test is being sent.');
            say(await testResult(`${path}/deliveries/${body.id}`, signal));
            redrawList();
            await redraw();
        }),
        button('Change …', () => { location.hash = `#/${path}/change`; }),
        button('Recover …', () => askRecovery(path, () => { redrawList(); redraw().catch(fail); })), pause,
        button('Rotate secret …', () => ask('Rotate the secret', 'The receiver must know the new secret within 24 hours.', 'Rotate', rotate)),
        subscription.public_key && subscription.asymmetric_signature ? button('Rotate key …', () => askNewKey(path, redraw)) : '',
        button('Delete …', () => askDeletion(path, subscription.url)));
}

// ---------------------------------------------------------------- a subscription

function shown(value) {
    if (value === undefined || value === true) return value && 'yes';
    if (Array.isArray(value)) return value.join(', ');
    return typeof value === 'object' ? code(JSON.stringify(value)) : String(value);
}

const STATES = { success: 'good', failed: 'bad', pending: 'off' };

function outcome(one) {
    return [badge(one.status, STATES[one.status] ?? 'off'), ' ', one.error ?? (one.http_status ? String(one.http_status) : '')];
}

function deliveryTable(items) {
    return table('Deliveries, newest first', ['Created', 'Event', 'Status', 'Attempts', 'Next'], items.map((one) => [
        h('a', { href: `#/webhooks/${one.subscription_id}/${one.id}` }, time(one.created_at)), code(one.event_type), outcome(one),
        String(one.attempt_count), time(one.next_attempt_at)]));
}

function deliveryList(id, signal) {
    const status = choice([['', 'any'], ['failed', 'failed'], ['pending', 'pending'], ['success', 'success']], '');
    const type = h('input', { type: 'text', placeholder: 'broker.*', spellcheck: 'false' });
    const resource = h('input', { type: 'text', placeholder: 'brk_…', spellcheck: 'false' });
    const since = h('input', { type: 'datetime-local' });
    const place = h('div', {});
    const show = () => {
        const created = since.value ? new Date(since.value).toISOString() : '';
        const params = { status: status.value, event_type: type.value.trim(), resource_id: resource.value.trim(), created_gte: created };
        place.replaceChildren(pager(`webhooks/${id}/deliveries`, params, deliveryTable, signal, 'No delivery matches.'));
    };
    const filters = form({ class: 'filters', 'aria-label': 'Filter deliveries' }, show, field('Status', status), field('Event', type),
        field('Resource', resource), field('Since', since), h('button', { type: 'submit' }, 'Filter'));
    status.addEventListener('change', show);
    show();
    return { element: h('section', { 'aria-label': 'Deliveries' }, h('h3', {}, 'Deliveries'), filters, place), show };
}

async function subscriptionView(view, [id], signal) {
    const head = h('div', {}), list = deliveryList(id, signal);
    const redraw = async () => {
        const { body } = await request(`webhooks/${id}`, { signal });
        const why = h('p', { class: 'why' }, await explain(body, signal));
        head.replaceChildren(health(body), why,
            facts(['Id', code(body.id)], ['Last success', body.last_success_at && time(body.last_success_at)],
                ...FIELDS.slice(1).map((row) => [row.label, shown(valueAt(body, row.name))]),
                ['Public key', body.public_key && code(body.public_key)]),
            mayWrite('webhooks') ? actions(body, redraw, list.show, signal) : '');
        return body;
    };
    const subscription = await redraw();
    view.append(heading(subscription.url), head, list.element);
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
    view.append(heading(`Delivery of ${body.event_type}`), h('p', {}, h('a', { href: `#/webhooks/${id}` }, 'All deliveries of the subscription')),
        h('p', {}, outcome(body)),
        body.status === 'success' ? '' : h('p', { class: 'why' }, `${sentence(reason(body))}.`),
        facts(['Id', code(body.id)], ['Event', code(body.event_id)], ['Created', time(body.created_at)],
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
