import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { prepare } from "./local-server.ts";

afterEach(() => void vi.unstubAllEnvs());

function place() {
	return {
		directory: mkdtempSync(join(tmpdir(), "tidemill-clickhouse-")),
		port: 8123,
		password: "hush",
		onInstall: () => {},
		alone: <T>(_folder: string, action: () => Promise<T>) => action(),
	};
}

test.each(["", "/nowhere"])(
	"without clickhouse in TIDEMILL_BIN=%j a start says how to get it",
	async (folder) => {
		vi.stubEnv("TIDEMILL_BIN", folder);
		await expect(prepare(place())).rejects.toThrow(
			/needs the program `clickhouse`.*curl https:\/\/clickhouse.com\/ \| sh.*TIDEMILL_BIN/,
		);
	},
);

test("the program of TIDEMILL_BIN runs, and its password is in no argument, nor as it is in a file", async () => {
	const bin = mkdtempSync(join(tmpdir(), "tidemill-bin-"));
	writeFileSync(join(bin, "clickhouse"), "");
	vi.stubEnv("TIDEMILL_BIN", bin);
	const here = place();
	const server = await prepare(here);
	expect(server.command).toBe(join(bin, "clickhouse"));
	expect(server.args).toEqual([
		"server",
		`--config-file=${here.directory}/config.yaml`,
	]);
	for (const file of ["config.yaml", "users.yaml"]) {
		const path = join(here.directory, file);
		expect(readFileSync(path, "utf8")).not.toContain("hush");
		expect(statSync(path).mode & 0o777).toBe(0o600);
	}
	expect(readFileSync(server.args[1]!.split("=")[1]!, "utf8")).toContain(
		"listen_host: 127.0.0.1",
	);
	expect(server.secret.stringData).toMatchObject({ username: "tidemill" });
	expect(server.hosts).toBe("http://127.0.0.1:8123");
});
