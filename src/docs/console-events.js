// SPDX-License-Identifier: Apache-2.0
// The event log, live, and the requests that were refused.
'use strict';

const MAX_EVENTS = 200; // shown at a time, of a log without an end
const WAIT = 20; // seconds

// ---------------------------------------------------------------- differences

function plain(value) {
    if (value === undefined || value === null) return 'none';
    return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}

// A field that has changed: before, after. Confidential fields are only named.
function difference(event, name) {
    const { previous = {}, payload = {} } = event;
    if (!(name in previous) && !(name in payload))
        return [code(name), h('span', { class: 'dim' }, 'confidential'), h('span', { class: 'dim' }, 'confidential')];
    return [code(name), h('del', {}, plain(previous[name])), h('ins', {}, plain(payload[name]))];
}

function eventDetails(event) {
    const changed = (event.changed ?? []).filter((name) => name !== 'updated_at');
    return h('div', { class: 'inside' },
        facts(['Id', code(event.id)], ['Resource', resourceLink(event.resource_id)], ['By', event.actor_id && code(event.actor_id)],
            ['Request', event.request_id && code(event.request_id)]),
        changed.length ? table('What has changed', ['Field', 'Before', 'After'], changed.map((name) => difference(event, name))) : '',
        session.areas.has('webhooks') ? destinations(event) : '',
        h('h3', {}, 'Payload'), pre(event.payload, `Payload of ${event.id}`));
}

// ---------------------------------------------------------------- where an event was sent

// Why a subscription has no delivery of an event, as far as its present state says.
function absence(subscription, event, types) {
    const wanted = [event.type, `${kindOf(event.type)}.*`];
    if (types.find(({ type }) => type === event.type)?.is_in_wildcard) wanted.push('*');
    if (subscription.created_at > event.created_at) return 'Not sent: the subscription is newer than the event.';
    if (!wanted.some((name) => subscription.events.includes(name))) return `Not sent: its events do not include ${event.type}.`;
    if (!subscription.is_active) return 'Not sent: it is inactive.';
    return `Not sent: ${subscription.filters ? 'its filters do not match, or ' : ''}it was inactive or had other events at that time.`;
}

async function destination(subscription, event, types, signal) {
    const { body } = await request(`webhooks/${subscription.id}/deliveries`, { params: { event_id: event.id, limit: 1 }, signal });
    const [one] = body.items;
    return one ? [h('a', { href: `#/webhooks/${subscription.id}/${one.id}` }, 'Delivery'), ' ', ...outcome(one)]
        : [absence(subscription, event, types)];
}

function destinations(event) {
    const place = h('div', { class: 'buttons' }, button('Where was it sent?', async () => {
        const { signal } = leaving, { body: { items: types } } = await request('event-types', { signal });
        place.replaceChildren(pager('webhooks', {}, (items) => table('Subscriptions', ['Subscription', 'Delivery'], items.map((one) => {
            const result = h('span', {}, '…');
            destination(one, event, types, signal).then((parts) => result.replaceChildren(...parts), fail);
            return [h('a', { href: `#/webhooks/${one.id}` }, nameOf(one)), result];
        })), signal, 'There is no subscription.').element);
    }));
    return place;
}

const KINDS = { created: 'good', updated: 'off', deleted: 'bad' };

function summaryOf(event) {
    const changed = (event.changed ?? []).filter((name) => name !== 'updated_at').join(', ');
    return h('summary', {}, time(event.created_at), ' ', badge(event.type, KINDS[event.type.split('.').at(-1)] ?? 'off'), ' ',
        h('span', { class: 'mono' }, event.resource_id ?? ''), changed ? h('span', { class: 'dim' }, ` ${changed}`) : '');
}

// Its details are made when it is opened.
function eventRow(event) {
    const row = h('details', { class: 'event', 'data-id': event.id, ontoggle: () => {
        if (row.open && !row.querySelector('.inside')) row.append(eventDetails(event));
    } }, summaryOf(event));
    return h('li', {}, row);
}

// ---------------------------------------------------------------- the log

// Adds events that are not shown yet at the top, and removes what is too much at the end.
function addNewest(list, events) {
    for (const event of events)
        if (!list.querySelector(`[data-id="${CSS.escape(event.id)}"]`)) list.prepend(eventRow(event));
    while (list.children.length > MAX_EVENTS) list.lastElementChild.remove();
}

function pause(seconds, signal) {
    return new Promise((resolve) => {
        const timer = setTimeout(resolve, seconds * 1000);
        signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); });
    });
}

// Follows the log until the view is left. Failures of the network are waited for; others end it. The first request, and that
// after a failure, does not wait for events, so that the state is known at once.
async function follow(list, state, params, position, signal) {
    let delay = 1, wait;
    while (!signal.aborted) {
        try {
            const { body, headers, retryAfter } = await request('events',
                { params: { ...params, order: 'asc', after: position, wait, limit: 100 }, signal });
            position = headers.get('X-Events-Position');
            addNewest(list, body.items);
            state.textContent = list.children.length ? 'Live.' : 'Live. No event so far.';
            delay = 1;
            wait = WAIT;
            if (retryAfter) await pause(retryAfter, signal);
        } catch (error) {
            if (error.name === 'AbortError') return;
            if (!mayPass(error)) throw error;
            state.textContent = 'Interrupted. Trying again …';
            delay = Math.min(30, 2 * delay);
            wait = undefined;
            await pause(Math.max(delay, error.retryAfter ?? 0), signal);
        }
    }
}

async function live(place, params, signal) {
    const list = h('ol', { class: 'events', 'aria-label': 'Events, newest first' });
    const state = h('p', { class: 'dim', role: 'status' }, 'Loading …');
    place.replaceChildren(state, list);
    const now = await request('events', { params: { ...params, order: 'asc', after: 'now', limit: 1 }, signal });
    const { body } = await request('events', { params: { ...params, limit: PAGE }, signal });
    list.append(...body.items.map(eventRow));
    await follow(list, state, params, now.headers.get('X-Events-Position'), signal);
}

function older(place, params, signal) {
    place.replaceChildren(pager('events', params, (items) => h('ol', { class: 'events' }, items.map(eventRow)), signal,
        'No event matches.').element);
}

// Each search ends the former one's request that waits.
async function eventsView(view, _, signal, query) {
    const resource = h('input', { type: 'text', placeholder: 'prp_…', spellcheck: 'false', value: query.get('resource_id') ?? '' });
    const type = h('input', { type: 'text', placeholder: 'property.*', spellcheck: 'false', value: query.get('type') ?? '' });
    const place = h('div', {});
    let search = new AbortController();
    const start = (show) => {
        search.abort();
        search = new AbortController();
        signal.addEventListener('abort', () => search.abort());
        clearFailure();
        const params = { resource_id: resource.value.trim(), type: type.value.trim() };
        return Promise.resolve(show(place, params, search.signal)).catch(fail);
    };
    const filters = form({ class: 'filters', 'aria-label': 'Search events' }, () => { start(live); }, field('Resource', resource),
        field('Type', type), h('button', { type: 'submit' }, 'Search'),
        h('button', { type: 'button', onclick: () => start(older) }, 'Page through'));
    view.append(heading('Events'), filters, place);
    start(live);
}

// ---------------------------------------------------------------- refused requests

async function refusalsView(view, _, signal) {
    const place = h('div', {});
    const show = async () => {
        const { body } = await request('me/refusals', { signal });
        const rows = body.items.map((one) => [time(one.created_at), badge(String(one.status), one.status < 500 ? 'off' : 'bad'),
            code(`${one.method} ${one.path}`), h('div', {}, h('a', { href: `errors#${one.code}` }, one.code), h('p', {}, one.detail)),
            code(one.request_id)]);
        place.replaceChildren(rows.length ? table('Newest first', ['Time', 'Status', 'Request', 'Problem', 'Request id'], rows) :
            h('p', {}, 'No request of this key was refused since the server was started.'));
    };
    view.append(heading('Refused requests'), h('p', { class: 'dim' }, 'The last 100 of this key, on the server that answers.'),
        h('div', { class: 'buttons' }, button('Refresh', show)), place);
    await show();
}
