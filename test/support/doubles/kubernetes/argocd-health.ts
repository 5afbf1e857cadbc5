import { readFileSync } from "node:fs";
import { join } from "node:path";
// wasmoon: the real Lua, compiled to WebAssembly, so that no package of the system is needed.
import { LuaFactory } from "wasmoon";
import type { KubeObject } from "../../../../packages/kube/resource.ts";

export const customizations = join(
	import.meta.dirname,
	"../../../../examples/argocd/resource_customizations",
);

export interface ArgoHealth {
	status: string;
	message: string;
}

/** Compiles Lua once; each engine has a state of its own. */
const factory = new LuaFactory();

/** The health of an object, as Argo CD asks its script (argo-cd.readthedocs.io/en/stable/operator-manual/health). */
export async function argoHealthOf(object: KubeObject): Promise<ArgoHealth> {
	const { apiVersion = "", kind = "" } = object as {
		apiVersion?: string;
		kind?: string;
	};
	const folder = join(customizations, apiVersion.split("/")[0]!, kind);
	const script = readFileSync(join(folder, "health.lua"), "utf8");
	const lua = await factory.createEngine();
	try {
		return await lua.doString(`local obj = ${luaValue(object)}\n${script}`);
	} finally {
		lua.global.close();
	}
}

/** JSON as an expression of Lua. Its numbers are integers. */
function luaValue(value: unknown): string {
	if (value === null || value === undefined) return "nil";
	if (typeof value !== "object")
		return typeof value === "string" ? luaText(value) : String(value);
	if (Array.isArray(value)) return `{ ${value.map(luaValue).join(", ")} }`;
	const fields = Object.entries(value).map(
		([name, field]) => `[${luaText(name)}] = ${luaValue(field)}`,
	);
	return `{ ${fields.join(", ")} }`;
}

function luaText(text: string): string {
	return `"${Array.from(
		Buffer.from(text),
		(byte) => `\\x${byte.toString(16).padStart(2, "0")}`,
	).join("")}"`;
}
