import { createHash, randomBytes } from "node:crypto";
import {
	mkdir,
	readdir,
	readFile,
	rename,
	rm,
	writeFile,
} from "node:fs/promises";
import { join } from "node:path";

/** A person copies the link into a browser at once. */
export const codeLifeMs = 10 * 60_000;

/** Where a local Tidemill with this home keeps them. */
export function codesOf(home: string): string {
	return join(home, "sign-in-codes");
}

interface KeptCode {
	token: string;
	/** Unix time. */
	expiresAtMs: number;
}

/**
 * Codes that sign a browser in once, in place of the token that they stand for. They are files in a folder that only their owner
 * may read: who makes one and who spends it share nothing else, and whichever process renames the file first has spent it.
 */
export async function issueCode(
	directory: string,
	token: string,
	now = Date.now(),
): Promise<string> {
	await mkdir(directory, { recursive: true, mode: 0o700 });
	await removeExpired(directory, now);
	const code = randomBytes(24).toString("base64url");
	const kept: KeptCode = { token, expiresAtMs: now + codeLifeMs };
	await writeFile(fileOf(directory, code), JSON.stringify(kept), {
		mode: 0o600,
		flag: "wx",
	});
	return code;
}

/** The token that the code stands for; undefined if it is unknown, spent or expired. */
export async function spendCode(
	directory: string,
	code: string,
	now = Date.now(),
): Promise<string | undefined> {
	const file = fileOf(directory, code);
	const spent = `${file}.spent`;
	try {
		await rename(file, spent);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
	try {
		const kept: KeptCode = JSON.parse(await readFile(spent, "utf8"));
		return now < kept.expiresAtMs ? kept.token : undefined;
	} finally {
		await rm(spent, { force: true });
	}
}

/** The name says nothing of the code. */
function fileOf(directory: string, code: string): string {
	const digest = createHash("sha256").update(code).digest("hex");
	return join(directory, digest);
}

async function removeExpired(directory: string, now: number): Promise<void> {
	for (const name of await readdir(directory)) {
		const file = join(directory, name);
		// Another process may have spent it meanwhile, or may be writing it.
		const text = await readFile(file, "utf8").catch(() => "");
		if (text === "" || now < JSON.parse(text).expiresAtMs) continue;
		await rm(file, { force: true });
	}
}
