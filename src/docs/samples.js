// SPDX-License-Identifier: Apache-2.0
// Adds a copy button to every code block and shows one language of each sample. Pages are complete without it.
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

function show(language) {
    for (const sample of samples) {
        for (const block of sample.querySelectorAll('pre')) block.hidden = block.dataset.label !== language;
        for (const tab of sample.querySelectorAll('[aria-pressed]'))
            tab.setAttribute('aria-pressed', String(tab.textContent === language));
    }
}

// Samples above this one change their height, so the page is scrolled back to the button.
function choose(button) {
    const top = button.getBoundingClientRect().top;
    show(button.textContent);
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
if (samples.length) show('curl');
