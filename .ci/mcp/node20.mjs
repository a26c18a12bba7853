// The conformance suite imports fs.globSync for a command that isn't used here. Node 20 doesn't have
// the function, so this provides one that finds nothing.
import fs from 'node:fs';
import { register } from 'node:module';

if (!fs.globSync) {
  const module = (source) => 'data:text/javascript,' + encodeURIComponent(source);
  const withGlob = module(`export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => [];`);
  register(module(`
    export const resolve = (name, context, next) =>
      name === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')
        ? { url: ${JSON.stringify(withGlob)}, shortCircuit: true }
        : next(name, context);
  `));
}
