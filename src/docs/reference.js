// SPDX-License-Identifier: Apache-2.0
// Starts Swagger UI on the reference page. It stores nothing in the browser, and contacts this host only.
'use strict';

const dark = matchMedia('(prefers-color-scheme: dark)');
const applyColors = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
applyColors();
dark.addEventListener('change', applyColors);

const url = new URL('../openapi.yaml', document.baseURI).href;

// "Try it out" would send the examples of optional parameters, so they are moved to the description.
function moveExample(parameter) {
    if (parameter.required || parameter.example === undefined) return;
    parameter.description = `${parameter.description ?? ''} Example: \`${[parameter.example].flat().join(',')}\``;
    delete parameter.example;
}

// Requests go to the origin of the page, because the Content-Security-Policy allows no other.
function prepare(description) {
    description.servers = [{ url: new URL('.', url).href.slice(0, -1) }];
    const paths = Object.values(description.paths ?? {});
    Object.values(description.components?.parameters ?? {}).forEach(moveExample);
    paths.flatMap((path) => Object.values(path).flatMap((operation) => operation.parameters ?? [])).forEach(moveExample);
    return description;
}

// Replaces resolveSubtree, which reads the whole description again for each operation that is opened.
function resolve(value, description, seen = []) {
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) return value.map((one) => resolve(one, description, seen));
    if (typeof value.$ref !== 'string')
        return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolve(one, description, seen)]));
    if (seen.includes(value.$ref)) return value;
    const target = at(description, value.$ref.split('/').slice(1).map((name) => name.replace(/~1/g, '/').replace(/~0/g, '~')));
    return { ...resolve(target, description, [...seen, value.$ref]), $$ref: url + value.$ref };
}

function at(description, path) {
    return path.reduce((value, name) => value?.[name], description);
}

// Generators of code for the request of "Try it out". JSON's string literals are valid in both languages. A quote in the body is
// inside a JSON string, so it can be written as an escape.
function escape(body, quote) {
    return body.replaceAll(quote, `\\u00${quote.charCodeAt(0).toString(16)}`);
}

function entries(headers) {
    return Object.entries(headers ?? {}).map((entry) => `    ${entry.map((one) => JSON.stringify(one)).join(': ')},\n`).join('');
}

function python(request) {
    const { url, method, headers, body } = request.toJS();
    const data = body ? `body = r'''${escape(body, "'")}'''\n` : '';
    return `import requests\n\nheaders = {\n${entries(headers)}}\n${data}` +
        `response = requests.request("${method}", ${JSON.stringify(url)},\n` +
        `                            headers=headers${body ? ', data=body.encode()' : ''})\nprint(response.text)`;
}

function typescript(request) {
    const { url, method, headers, body } = request.toJS();
    const data = body ? `const body = String.raw\`${escape(escape(body, '`'), '$')}\`;\n` : '';
    return `const headers = {\n${entries(headers)}};\n${data}` +
        `const response = await fetch(${JSON.stringify(url)},\n` +
        `  { method: "${method}", headers${body ? ', body' : ''} });\nconsole.log(await response.text());`;
}

// The filter is for tags, without regard to case. Swagger UI does not apply it to webhooks, whose tag is Webhooks.
function matches(tag, phrase) {
    return tag.toLowerCase().includes(phrase.toLowerCase());
}

function filteredWebhooks(Webhooks, { layoutSelectors, React }) {
    return (props) => {
        const phrase = layoutSelectors.currentFilter();
        return typeof phrase !== 'string' || matches('Webhooks', phrase) ? React.createElement(Webhooks, props) : null;
    };
}

const plugin = () => ({
    fn: {
        opsFilter: (operations, phrase) => operations.filter((_, tag) => matches(tag, phrase)),
        requestSnippetGenerator_python: python,
        requestSnippetGenerator_typescript: typescript,
        resolveSubtree: async (description, path) => ({ spec: resolve(at(description, path), description), errors: [] }),
    },
    statePlugins: {
        spec: { wrapActions: { updateJsonSpec: (update) => (description) => update(prepare(description)) } },
    },
    // The other pages have the introduction.
    wrapComponents: { InfoContainer: () => () => null, Webhooks: filteredWebhooks },
});

SwaggerUIBundle({
    url,
    dom_id: '#operations',
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    filter: true,
    persistAuthorization: false,
    validatorUrl: null,
    requestSnippetsEnabled: true,
    requestSnippets: {
        generators: {
            curl_bash: { title: 'curl', syntax: 'bash' },
            python: { title: 'Python', syntax: 'python' },
            typescript: { title: 'TypeScript', syntax: 'javascript' },
        },
        languages: ['curl_bash', 'python', 'typescript'],
        defaultExpanded: true,
    },
    plugins: [plugin],
});
