// Starts Swagger UI on the reference page. Nothing is kept in the browser, and nothing is asked of any other host.
'use strict';

const dark = matchMedia('(prefers-color-scheme: dark)');
const wear = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
wear();
dark.addEventListener('change', wear);

const url = new URL('../openapi.yaml', document.baseURI).href;

// Swagger UI would send the example of a parameter that may be left out; here it stands in the description instead.
function tell(parameter) {
    if (parameter.required || parameter.example === undefined) return;
    parameter.description = `${parameter.description ?? ''} Example: \`${[parameter.example].flat().join(',')}\``;
    delete parameter.example;
}

// HEAD and OPTIONS are beside every operation: half of the description, and nothing to read. Requests go to where the page is
// from, by whatever name that was reached: the policy allows nothing else.
function prepare(description) {
    description.servers = [{ url: new URL('.', url).href.slice(0, -1) }];
    const paths = Object.values(description.paths ?? {});
    for (const path of paths) {
        delete path.head;
        delete path.options;
    }
    Object.values(description.components?.parameters ?? {}).forEach(tell);
    paths.flatMap((path) => Object.values(path).flatMap((operation) => operation.parameters ?? [])).forEach(tell);
    return description;
}

// Swagger UI's own way of following references reads the whole description anew for each operation that is opened.
function follow(value, description, way = []) {
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) return value.map((one) => follow(one, description, way));
    if (typeof value.$ref !== 'string')
        return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, follow(one, description, way)]));
    if (way.includes(value.$ref)) return value;
    const target = at(description, value.$ref.split('/').slice(1).map((name) => name.replace(/~1/g, '/').replace(/~0/g, '~')));
    return { ...follow(target, description, [...way, value.$ref]), $$ref: url + value.$ref };
}

function at(description, path) {
    return path.reduce((value, name) => value?.[name], description);
}

const ours = () => ({
    fn: {
        resolveSubtree: async (description, path) => ({ spec: follow(at(description, path), description), errors: [] }),
    },
    statePlugins: {
        spec: { wrapActions: { updateJsonSpec: (update) => (description) => update(prepare(description)) } },
    },
    // What the description begins with is told by the other pages, at more leisure.
    wrapComponents: { InfoContainer: () => () => null },
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
    plugins: [ours],
});
