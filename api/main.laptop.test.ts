import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("the Kubernetes client library, which would double the memory, is not loaded", async () => {
	const main = new URL("main.ts", import.meta.url).href;
	const script = `
		import { registerHooks } from "node:module";
		const loaded = [];
		registerHooks({
			load(url, context, next) {
				loaded.push(url);
				return next(url, context);
			},
		});
		await import(${JSON.stringify(main)});
		console.log(loaded.join("\\n"));
	`;
	const { stdout } = await promisify(execFile)(process.execPath, [
		...["--input-type=module", "--eval", script],
	]);
	expect(stdout).toContain("/node_modules/fastify/");
	expect(stdout).not.toContain("/node_modules/@kubernetes/client-node/");
});
