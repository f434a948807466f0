// Opens files with Netron's own reader: node netron_open.mjs NETRON FILE...
// Prints a line of JSON for each file: its graphs with their nodes and constants, or the error that a user would see.

import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, ...files] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const base = await load('base.js');
const view = await load('view.js');

// What a host of Netron offers to its readers: the file, and Netron's own files.
class Context {
    constructor(file, data) {
        this.identifier = path.basename(file);
        this.stream = new base.BinaryStream(data);
        this.entries = new Map();
    }

    require(id) {
        return load(`${id}.js`);
    }

    asset(file) {
        return fs.readFile(path.join(folder, file), 'utf-8');
    }

    error(error) {
        throw error;
    }
}

const describe = (graph) => {
    const constants = {};
    const values = (parts) =>
        parts.flatMap((part) => part.value).filter((value) => value && value.initializer);
    for (const value of values([graph.inputs, graph.outputs, ...graph.nodes.map((node) => node.inputs)].flat())) {
        const tensor = new base.Tensor(value.initializer);
        constants[value.name] = tensor.empty ? null : { type: value.type.toString(), value: tensor.value };
    }
    const nodes = graph.nodes.map((node) => ({
        name: node.type.name,
        ...(node.type.nodes ? { graph: describe(node.type) } : {}),
    }));
    return { name: graph.name, nodes, constants };
};

const number = (_, value) => (typeof value === 'bigint' ? Number(value) : value);

const service = new view.ModelFactoryService({ require: (id) => load(`${id}.js`) });
for (const file of files) {
    let answer = null;
    try {
        const model = await service.open(new Context(file, await fs.readFile(file)));
        answer = { format: model.format, graphs: model.modules.map(describe) };
    } catch (error) {
        answer = { error: `${error.name} ${error.message}` };
    }
    console.log(JSON.stringify(answer, number));
}
