// SPDX-License-Identifier: Apache-2.0
// The form that creates or changes a subscription. FIELDS is what it has, INPUTS how a kind of field is drawn and read.
'use strict';

const FIELDS = [
    { name: 'url', label: 'Address', kind: 'text', section: 'What is sent where', hint: 'Absolute, with https. Events are sent there by POST.',
        placeholder: 'https://crm.example.com/hooks' },
    { name: 'description', label: 'Description', kind: 'text', hint: 'What the subscription is for.', placeholder: 'Properties for the website' },
    { name: 'events', label: 'Events', kind: 'types' },
    { name: 'filters', label: 'Filters', kind: 'json', hint: 'Only what matches before or after a change, by kind of resource.',
        placeholder: '{"property": {"status": ["active"], "changed": ["sale_price"]}}' },
    { name: 'payload', label: 'Payload', kind: 'choice', section: 'Contents',
        values: [['full', 'Full: the resource'], ['thin', 'Thin: only the id and the address of the resource']] },
    { name: 'fields', label: 'Only these fields', kind: 'names', hint: 'Of full payloads, separated by commas. Empty: all fields.', placeholder: 'title, status, sale_price' },
    { name: 'include', label: 'Also include, in updates', kind: 'checks', values: [['changed', 'names of changed fields'], ['previous', 'former values']] },
    { name: 'is_masked', label: 'Personal data', kind: 'flag', text: 'Masked in deliveries' },
    { name: 'ordering', label: 'Order', kind: 'choice', section: 'Order and pace',
        values: [['none', 'None: each event at once'], ['resource', 'One event of a resource after the other']] },
    { name: 'max_per_second', label: 'Requests per second', kind: 'number', hint: '1 to 1000. Empty: unlimited.', placeholder: '20' },
    { name: 'max_in_flight', label: 'Requests at the same time', kind: 'number', hint: '1 to 512. Empty: the servers’ own limits.', placeholder: '4' },
    { name: 'batch.max_items', label: 'Events in a request', kind: 'number', hint: '1 to 100. Empty: each event has its own request.', placeholder: '50' },
    { name: 'batch.max_wait_ms', label: 'Milliseconds to wait for more events', kind: 'number', hint: '0 to 10000. Only with events in a request.', placeholder: '300' },
    { name: 'asymmetric_signature', label: 'Signature with a key', kind: 'choice', section: 'Signature and headers',
        values: [['', 'No: only with the secret'], ['ed25519', 'Ed25519: receivers need only the public key']] },
    { name: 'headers', label: 'Own headers', kind: 'pairs', hint: 'One a line, at most five. Values are never shown again: ******** keeps what is '
        + 'stored. Remove a line to remove the header.', placeholder: 'X-Gateway-Token: 4c9f8b2e' },
    { name: 'metadata', label: 'Metadata', kind: 'json', hint: 'Your own names and texts.', placeholder: '{"team": "website"}' },
];

function valueAt(subscription, name) {
    return name.split('.').reduce((value, part) => value?.[part], subscription);
}

// ---------------------------------------------------------------- kinds of fields

function textInput(parse, attributes) {
    return (value, { placeholder }) => {
        const input = h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', value, placeholder, ...attributes });
        return { input, read: () => (input.value.trim() ? parse(input.value.trim()) : undefined) };
    };
}

function textArea(write, parse) {
    return (value, { placeholder }) => {
        const input = h('textarea', { rows: 3, spellcheck: 'false', placeholder }, value === undefined ? '' : write(value));
        return { input, read: () => (input.value.trim() ? parse(input.value) : undefined) };
    };
}

// What is no JSON cannot be sent, so its error is made here.
function parseJson(text) {
    try {
        return JSON.parse(text);
    } catch (error) {
        throw new Error(`is not JSON: ${error.message}`);
    }
}

function parsePairs(text) {
    return Object.fromEntries(text.split('\n').filter((line) => line.trim()).map((line) => {
        const at = line.indexOf(':');
        if (at < 1) throw new Error(`has a line without a colon: ${line.trim()}`);
        return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }));
}

function check(name, text, checked) {
    const box = h('input', { type: 'checkbox', value: name, checked });
    return { box, label: h('label', { class: 'check' }, box, h('span', {}, text)) };
}

function checks(value = [], row) {
    const all = row.values.map(([name, text]) => check(name, text, value.includes(name)));
    const read = () => all.filter(({ box }) => box.checked).map(({ box }) => box.value);
    return { input: all[0].box, group: all.map(({ label }) => label), read: () => (read().length ? read() : undefined) };
}

const INPUTS = {
    text: textInput((text) => text),
    number: textInput((text) => (/^-?\d+$/.test(text) ? Number(text) : text), { inputmode: 'numeric' }), // the service refuses others
    names: (value, row) => textInput((text) => text.split(/[\s,]+/).filter(Boolean))(value?.join(', '), row),
    json: textArea((value) => JSON.stringify(value, null, 1), parseJson),
    pairs: textArea((value) => Object.entries(value).map((pair) => pair.join(': ')).join('\n'), parsePairs),
    choice: (value, { values }) => {
        const input = choice(values, value);
        return { input, read: () => (input.value === values[0][0] ? undefined : input.value) };
    },
    checks,
    flag: (value, { text }) => {
        const { box, label } = check('', text, value);
        return { input: box, group: [label], read: () => box.checked || undefined };
    },
    types: typeList,
};

// ---------------------------------------------------------------- types of events

function kindOf(type) {
    return type.split('.')[0];
}

// The rows of the list: each with the wildcards that include it.
function typeRows(types, chosen) {
    const listed = types.filter(({ type }) => type !== 'webhook.test'); // sent by a test only
    const rows = [{ name: '*', text: 'most events; those that it leaves out are marked', within: [] }];
    for (const kind of new Set(listed.map(({ type }) => kindOf(type)))) {
        const own = listed.filter(({ type }) => kindOf(type) === kind);
        rows.push({ name: `${kind}.*`, text: `all of ${kind}`, within: own.every((one) => one.is_in_wildcard) ? ['*'] : [] });
        rows.push(...own.map(({ type, summary, is_in_wildcard }) => ({ name: type, text: is_in_wildcard ? summary : `${summary} Not in *.`,
            within: is_in_wildcard ? ['*', `${kind}.*`] : [`${kind}.*`] })));
    }
    const names = new Set(rows.map(({ name }) => name));
    return [...rows, ...chosen.filter((name) => !names.has(name)).map((name) => ({ name, text: '', within: [] }))];
}

// A row that a wildcard includes cannot be chosen as well; its own choice is kept.
function typeList(value = [], _, types) {
    const rows = typeRows(types, value).map((row) => {
        const { box, label } = check(row.name, [code(row.name), ' ', h('span', { class: 'dim' }, row.text)], value.includes(row.name));
        return { ...row, box, item: h('li', {}, label) };
    });
    const search = h('input', { type: 'search', placeholder: 'Search events', 'aria-label': 'Search events', autocomplete: 'off' });
    const state = h('p', { class: 'hint', role: 'status' });
    const read = () => rows.filter(({ box }) => box.checked && !box.disabled).map(({ name }) => name);
    const update = () => {
        const wanted = new Set(rows.filter(({ box, name }) => box.checked && name.endsWith('*')).map(({ name }) => name));
        for (const { box, within } of rows) {
            box.disabled = within.some((name) => wanted.has(name));
            box.indeterminate = box.disabled && !box.checked;
        }
        state.textContent = read().length ? `Chosen: ${read().join(', ')}` : 'None is chosen.';
    };
    search.addEventListener('input', () => {
        const text = search.value.trim().toLowerCase();
        for (const { item } of rows) item.hidden = !item.textContent.toLowerCase().includes(text);
    });
    search.addEventListener('keydown', (event) => { if (event.key === 'Enter') event.preventDefault(); }); // does not send the form
    const list = h('ul', { class: 'types', onchange: update }, rows.map(({ item }) => item));
    update();
    return { input: search, group: [search, list, state], read };
}

// ---------------------------------------------------------------- the form

function drawField(row, value, types) {
    const made = INPUTS[row.kind](value, row, types);
    const hint = row.hint && h('p', { class: 'hint' }, row.hint), wrong = h('p', { class: 'wrong' });
    const element = made.group ? h('fieldset', { class: 'field' }, h('legend', {}, row.label), ...made.group) : field(row.label, made.input);
    const described = made.group ? element : made.input;
    wrong.id = `wrong-${row.name}`;
    if (hint) hint.id = `hint-${row.name}`;
    described.setAttribute('aria-describedby', `${hint ? `${hint.id} ` : ''}${wrong.id}`);
    element.append(...[hint, wrong].filter(Boolean));
    const show = (errors) => {
        wrong.replaceChildren(...errors.flatMap(({ field, message }) => [code(field), ` ${message}. `]));
        if (errors.length && !made.group) made.input.setAttribute('aria-invalid', 'true');
        else made.input.removeAttribute('aria-invalid');
    };
    return { row, element, input: made.input, read: made.read, show };
}

// All that can be read, and the errors of the rest.
function readForm(inputs) {
    const body = {}, errors = [];
    for (const { row: { name }, read } of inputs) {
        const [outer, inner] = name.split('.');
        try {
            const value = read();
            if (value === undefined) continue;
            if (inner) (body[outer] ??= {})[inner] = value;
            else body[outer] = value;
        } catch (error) {
            errors.push({ field: name, message: error.message });
        }
    }
    if (errors.length) throw new Problem(400, { detail: 'Some fields cannot be read.', errors });
    return body;
}

function isObject(value) {
    return value !== null && typeof value === 'object' && !Array.isArray(value);
}

// The JSON merge patch (RFC 7396) that makes `after` of `before`.
function mergePatch(before, after) {
    const patch = {};
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
        const was = before[name], is = after[name];
        if (JSON.stringify(was) === JSON.stringify(is)) continue;
        patch[name] = is === undefined ? null : isObject(was) && isObject(is) ? mergePatch(was, is) : is;
    }
    return patch;
}

function isAbout(path, name) {
    return path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`);
}

// Each error at its field, the others where the form is sent.
function showErrors(inputs, error, place) {
    const errors = error.errors ?? [];
    const isShown = (one) => inputs.some(({ row }) => isAbout(one.field, row.name));
    for (const { row, show } of inputs) show(errors.filter((one) => isAbout(one.field, row.name)));
    const first = inputs.find(({ row }) => errors.some((one) => isAbout(one.field, row.name)));
    place.replaceChildren(errors.length && errors.every(isShown)
        ? h('p', { class: 'failure', role: 'alert' }, 'Not saved. Correct the fields that are marked.') : errorBox(error));
    first?.input.focus();
}

function showCreated(view, { id, url, secret }) {
    view.replaceChildren(heading('The subscription is created'), h('p', {}, url),
        secretOnce(secret, 'The receiver verifies deliveries with this secret. It is shown only now: store it where the receiver can read it.'),
        h('p', {}, h('a', { href: `#/webhooks/${id}` }, 'To the subscription, to send a test')));
    view.querySelector('h2').focus();
}

// A write is not ended when the view is left: it may have been executed.
async function save(inputs, id, before) {
    const body = readForm(inputs);
    if (!id) return (await request('webhooks', { method: 'POST', body })).body;
    const own = Object.fromEntries(Object.entries(before).filter(([name]) => FIELDS.some((row) => row.name.split('.')[0] === name)));
    const patch = mergePatch(own, body);
    if (Object.keys(patch).length) await request(`webhooks/${id}`, { method: 'PATCH', body: patch });
    return null;
}

async function formView(view, [id], signal) {
    const [{ body: { items } }, { body: before }] = await Promise.all([request('event-types', { signal }),
        id ? request(`webhooks/${id}`, { signal }) : { body: {} }]);
    const inputs = FIELDS.map((row) => drawField(row, valueAt(before, row.name), items));
    const place = h('div', {}), send = h('button', { type: 'submit', class: 'main' }, id ? 'Save' : 'Create');
    const submit = async () => {
        if (send.disabled) return;
        send.disabled = true;
        for (const { show } of inputs) show([]);
        place.replaceChildren();
        try {
            const made = await save(inputs, id, before);
            if (signal.aborted) return;
            if (made) return showCreated(view, made);
            say(before.is_active ? 'Saved.' : 'Saved. Resume the subscription to send to it.');
            location.hash = `#/webhooks/${id}`;
        } catch (error) {
            if (error.status === 401) throw error;
            showErrors(inputs, error, place);
        } finally {
            send.disabled = false;
        }
    };
    view.append(heading(id ? 'Change the subscription' : 'New subscription'), form({ class: 'subscription', novalidate: true }, submit,
        inputs.flatMap(({ row, element }) => [row.section && h('h3', {}, row.section), element]), place,
        h('div', { class: 'buttons' }, send, h('a', { href: id ? `#/webhooks/${id}` : '#/' }, 'Cancel'))));
}
