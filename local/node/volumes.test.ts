import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pod, sources } from "../../test/support/fixtures/pod-fixture.ts";
import {
	identityOf,
	nodeDirectories,
	PodDirectory,
	type PodVolume,
} from "./pod.ts";
import { makeVolume, secretFiles } from "./volumes.ts";

const known = sources({ input: { "input.json": "{}", other: "x" } });

async function filesOf(secret: NonNullable<PodVolume["secret"]>) {
	const files = await secretFiles(secret, known);
	return files.map(({ path, content, mode }) => [
		path,
		content.toString(),
		mode.toString(8),
	]);
}

/** Makes the volume of a Pod in a home of its own. */
async function made(volume: Omit<PodVolume, "name">, among = known) {
	const home = await mkdtemp(join(tmpdir(), "tidemill-volumes-"));
	onTestFinished(() => rm(home, { recursive: true }));
	const directories = nodeDirectories(home);
	const directory = new PodDirectory(directories, identityOf(pod()));
	const named = { name: "v", ...volume };
	const path = await makeVolume(named, pod(), among, directories, directory);
	return { home, path, directory };
}

test("a Secret's keys are files, or the keys that are asked for under their paths", async () => {
	expect(await filesOf({ secretName: "input" })).toEqual([
		["input.json", "{}", "644"],
		["other", "x", "644"],
	]);
	const items = [
		{ key: "other", path: "deep/name", mode: 0o400 },
		{ key: "other", path: "plain" },
	];
	expect(
		await filesOf({ secretName: "input", items, defaultMode: 0o440 }),
	).toEqual([
		["deep/name", "x", "400"],
		["plain", "x", "440"],
	]);
});

test("a missing Secret or key is an error unless it is optional", async () => {
	const missing = { secretName: "none" };
	await expect(filesOf(missing)).rejects.toThrow('secret "none" not found');
	expect(await filesOf({ ...missing, optional: true })).toEqual([]);
	const items = [{ key: "z", path: "z" }];
	const incomplete = { secretName: "input", items };
	await expect(filesOf(incomplete)).rejects.toThrow(
		"references non-existent secret key: z",
	);
	expect(await filesOf({ ...incomplete, optional: true })).toEqual([]);
});

test("a Secret's files lie below the Pod's directory and can be written again", async () => {
	const items = [{ key: "other", path: "deep/name", mode: 0o400 }];
	const { path, directory } = await made({
		secret: { secretName: "input", items },
	});
	expect(path).toBe(directory.volume("v"));
	const file = join(path, "deep/name");
	expect(await readFile(file, "utf8")).toBe("x");
	expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("a claim's data lies outside the Pod's directory; a missing claim is an error", async () => {
	const volume = { persistentVolumeClaim: { claimName: "data" } };
	const { home, path } = await made(volume);
	expect(path).toBe(join(home, "volumes", "default", "data"));
	expect((await stat(path)).isDirectory()).toBe(true);
	const none = { ...known, claimExists: async () => false };
	await expect(made(volume, none)).rejects.toThrow(
		'persistentvolumeclaim "data" not found',
	);
});

test("a hostPath is the machine's own path, checked and made as its type says", async () => {
	const { home } = await made({ emptyDir: {} });
	const path = join(home, "host");
	await expect(made({ hostPath: { path, type: "Directory" } })).rejects.toThrow(
		`${path} is not a Directory`,
	);
	const hostPath = { path, type: "DirectoryOrCreate" };
	expect((await made({ hostPath })).path).toBe(path);
	expect((await stat(path)).isDirectory()).toBe(true);
	expect((await made({ hostPath: { path } })).path).toBe(path);
});
