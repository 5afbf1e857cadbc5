import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fastifyCookie from "@fastify/cookie";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../../packages/service/log.ts";
import {
	SealKey,
	SealKeyRing,
	type SecretSealer,
} from "../../packages/service/seal-key.ts";
import { passingDirectory } from "../../test/support/faults/passing-directory.ts";
import { SessionCookie } from "./session-cookie.ts";

/** What a browser keeps of a cookie (RFC 6265, section 6.1). */
const maxCookieBytes = 4_096;
const endMs = Date.parse("2026-03-01T12:00:00Z");

/** A browser's cookies at an API with these keys, which is reached over TLS. */
function browserAt(keys: SecretSealer) {
	const cookie = new SessionCookie(keys);
	const api = fastify({ trustProxy: true, bodyLimit: 64 * 1024 });
	void api.register(fastifyCookie);
	api.post("/", async (request, reply) => {
		const { token } = request.body as { token: string };
		cookie.write(reply, { id: "a", token, expiresAtMs: endMs });
		return "";
	});
	api.get("/", async (request) => {
		const now = Number(request.headers["x-now"]);
		return cookie.read(request, now) ?? { token: "" };
	});
	const tls = { "x-forwarded-proto": "https" };
	const jar = new Map<string, string>();
	return {
		jar,
		signIn: async (token: string) => {
			const payload = { token };
			const answer = await api.inject({
				...{ method: "POST", url: "/", headers: tls, payload },
			});
			for (const { name, value } of answer.cookies)
				if (value === "") jar.delete(name);
				else jar.set(name, value);
			return {
				status: answer.statusCode,
				set: [answer.headers["set-cookie"] ?? []].flat(),
			};
		},
		token: async (now = endMs - 1) => {
			const cookie = [...jar].map((one) => one.join("=")).join("; ");
			const headers = { ...tls, cookie, "x-now": String(now) };
			const answer = await api.inject({ url: "/", headers });
			return answer.json().token as string;
		},
	};
}

function tokenOf(length: number): string {
	return randomBytes(length).toString("base64url").slice(0, length);
}

test("a token of more than 4 KB takes several cookies that a browser keeps; a shorter one after it removes the rest", async () => {
	const browser = browserAt(new SealKey(randomBytes(32)));
	const long = tokenOf(9_000);
	const { set } = await browser.signIn(long);
	for (const one of set) expect(one.length).toBeLessThan(maxCookieBytes);
	expect([...browser.jar.keys()]).toEqual(
		["", "-1", "-2", "-3"].map((part) => `__Host-tidemill-console${part}`),
	);
	expect(await browser.token()).toBe(long);
	const short = tokenOf(900);
	await browser.signIn(short);
	expect([...browser.jar.keys()]).toEqual(["__Host-tidemill-console"]);
	expect(await browser.token()).toBe(short);
});

test("a token that passes the cookies of a browser opens nothing", async () => {
	const browser = browserAt(new SealKey(randomBytes(32)));
	const { status, set } = await browser.signIn(tokenOf(14_000));
	expect([status, set]).toEqual([500, []]);
});

test("a session ends with its token", async () => {
	const browser = browserAt(new SealKey(randomBytes(32)));
	const token = tokenOf(900);
	const { set } = await browser.signIn(token);
	expect(set.at(-1)).toContain("Expires=Sun, 01 Mar 2026 12:00:00 GMT");
	expect(await browser.token(endMs - 1)).toBe(token);
	expect(await browser.token(endMs)).toBe("");
});

test("without one of its parts, or with one of another session, a session is none", async () => {
	const keys = new SealKey(randomBytes(32));
	const [browser, other] = [browserAt(keys), browserAt(keys)];
	await browser.signIn(tokenOf(9_000));
	await other.signIn(tokenOf(9_000));
	const last = "__Host-tidemill-console-3";
	browser.jar.set(last, other.jar.get(last)!);
	expect(await browser.token()).toBe("");
	browser.jar.delete(last);
	expect(await browser.token()).toBe("");
});

test("over TLS a cookie that another host may have set counts for nothing", async () => {
	const browser = browserAt(new SealKey(randomBytes(32)));
	await browser.signIn(tokenOf(900));
	const [sealed] = browser.jar.values();
	browser.jar.clear();
	browser.jar.set("tidemill-console", sealed!);
	expect(await browser.token()).toBe("");
});

test("a session of the former key goes on while that key is there, and new ones are of the new key", async () => {
	const [former, next] = [tokenOf(32), tokenOf(32)];
	const before = browserAt(await ringOf({ "": former }));
	const beside = browserAt(await ringOf({ "": next, "-former": former }));
	const without = browserAt(await ringOf({ "": next }));
	const bring = (to: typeof before, from: typeof before) => {
		for (const [name, value] of from.jar) to.jar.set(name, value);
	};
	const token = tokenOf(900);
	await before.signIn(token);
	bring(beside, before);
	bring(without, before);
	expect(await beside.token()).toBe(token);
	expect(await without.token()).toBe("");
	await beside.signIn(token);
	bring(without, beside);
	expect(await without.token()).toBe(token);
});

/** @param keys by what the name of the file ends in */
async function ringOf(keys: Record<string, string>): Promise<SealKeyRing> {
	const path = join(await passingDirectory("console-keys"), "seal-key");
	for (const [end, key] of Object.entries(keys))
		writeFileSync(`${path}${end}`, key);
	const ring = new SealKeyRing(path, createLog("test"), "API_CONSOLE_SEAL_KEY");
	onTestFinished(() => ring.close());
	return ring;
}
