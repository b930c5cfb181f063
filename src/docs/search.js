// SPDX-License-Identifier: Apache-2.0
// Searches all pages. The index is loaded when the field is used first. Keys: "/" goes to the field, arrows to the results.
'use strict';

const field = document.createElement('input');
const results = document.createElement('ul');
const announcement = document.createElement('p');
let index;

// Without case and accents.
function plain(text) {
    return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

function load() {
    index ??= fetch('search.json').then((response) => response.json()).then((sections) => sections.map(
        ([path, anchor, title, heading, text]) => ({
            path, anchor, title, heading, text, plainHeading: plain(heading), plainTitle: plain(title), plainText: plain(text),
        })));
    return index;
}

// 0 if a word is missing. A heading counts more than the text below it, a whole word more than a part.
function score(section, words) {
    let sum = 0;
    for (const word of words) {
        const inHeading = section.plainHeading.includes(word), inTitle = section.plainTitle.includes(word);
        if (!inHeading && !inTitle && !section.plainText.includes(word)) return 0;
        sum += 1 + 8 * inHeading + 4 * inTitle + 8 * section.plainHeading.split(/[\s/]+/).includes(word);
    }
    return sum;
}

// The text around the first word that was found, as long as a line or two.
function excerpt(section, words) {
    const at = Math.max(0, Math.min(...words.map((word) => section.plainText.indexOf(word)).filter((one) => one >= 0), 1e9));
    const from = at > 40 && at < 1e9 ? section.text.indexOf(' ', at - 40) + 1 : 0;
    return (from ? '… ' : '') + section.text.slice(from, from + 140) + (from + 140 < section.text.length ? ' …' : '');
}

function add(parent, name, text) {
    const element = document.createElement(name);
    element.textContent = text;
    parent.append(element);
    return element;
}

function row(section, words) {
    const item = document.createElement('li');
    const link = add(item, 'a', '');
    link.href = section.path + (section.anchor ? `#${section.anchor}` : '');
    add(link, 'strong', section.heading);
    if (section.title !== section.heading) add(link, 'span', section.title);
    add(link, 'small', excerpt(section, words));
    return item;
}

async function search() {
    const words = plain(field.value).split(/\s+/).filter(Boolean);
    const sections = words.length ? await load() : [];
    const found = sections.map((section) => [score(section, words), section]).filter(([points]) => points)
        .sort(([one], [other]) => other - one).slice(0, 12);
    if (words.join() !== plain(field.value).split(/\s+/).filter(Boolean).join()) return; // typed meanwhile
    results.replaceChildren(...found.map(([, section]) => row(section, words)));
    results.hidden = !found.length;
    announcement.textContent = !words.length ? '' : found.length ? `${found.length} results` : 'Nothing found';
}

function close() {
    results.hidden = true;
    announcement.textContent = '';
}

function move(event, step) {
    const links = [...results.querySelectorAll('a')];
    const next = links.indexOf(document.activeElement) + step;
    if (results.hidden || next >= links.length) return;
    event.preventDefault();
    (links[next] ?? field).focus();
}

function build() {
    const box = document.createElement('div');
    box.className = 'search';
    box.role = 'search';
    Object.assign(field, { type: 'search', placeholder: 'Search', autocomplete: 'off' });
    field.setAttribute('aria-label', 'Search the documentation');
    announcement.role = 'status';
    results.hidden = true;
    box.append(field, announcement, results);
    document.querySelector('body > header').append(box);
    field.addEventListener('focus', load);
    field.addEventListener('input', search);
    box.addEventListener('keydown', (event) => {
        if (event.key === 'ArrowDown') move(event, 1);
        if (event.key === 'ArrowUp') move(event, -1);
        if (event.key === 'Enter' && event.target === field) results.querySelector('a')?.click();
        if (event.key === 'Escape') {
            field.focus();
            close();
        }
    });
    results.addEventListener('click', close);
    box.addEventListener('focusout', (event) => { if (!box.contains(event.relatedTarget)) close(); });
}

build();
document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, textarea, select')) return;
    event.preventDefault();
    field.focus();
});
