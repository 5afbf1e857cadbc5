import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const program = join(import.meta.dirname, "tidemill.ts");

function tidemill(...args: string[]) {
	return tidemillWith({}, ...args);
}

function tidemillWith(env: Record<string, string>, ...args: string[]) {
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[program, ...args],
		{ encoding: "utf8", env: { ...process.env, ...env } },
	);
	return { status, stdout, stderr };
}

test("help lists the commands, and the short names of the resources", () => {
	const { status, stdout } = tidemill("help");
	expect(status).toBe(0);
	expect(stdout).toContain("tidemill sources list");
	for (const [plural, shortName] of [
		["sources", "wsrc"],
		["destinations", "wdst"],
		["pipelines", "wpl"],
		["runs", "wrun"],
		["trackingplans", "tplan"],
	])
		expect(stdout).toMatch(new RegExp(`^  ${plural} +${shortName}$`, "m"));
});

test.each([
	["help", "tokens"],
	["tokens", "--help"],
	["tokens", "create", "-h"],
])("tidemill %s %s shows how to use the command", (...args) => {
	const { status, stdout } = tidemill(...args.filter(Boolean));
	expect(status).toBe(0);
	expect(stdout).toContain("tidemill tokens create <name> --role");
});

test("an unknown output format is refused with the one that exists", () => {
	const { status, stderr } = tidemill("sources", "list", "-o", "yaml");
	expect(status).toBe(2);
	expect(stderr).toContain('--output is "yaml", but only json is supported');
});

test("a process explains itself and doesn't start", () => {
	const { status, stdout } = tidemill("operator", "--help");
	expect(status).toBe(0);
	expect(stdout).toContain("docs/reference/settings.md");
});

test.each(["unknown", "toString", "Processes"])(
	'the command "%s" is refused, with a pointer to help',
	(name) => {
		expect(tidemill(name)).toEqual({
			status: 2,
			stdout: "",
			stderr: `tidemill: unknown command "${name}". See: tidemill help\n`,
		});
	},
);

test.each(["receive", "api"])(
	"a wrong setting ends %s at once, even if it is read when the server already listens",
	(role) => {
		const { status, stderr } = tidemillWith(
			{
				NATS_URL: "tls://u:s3cret@h:1,nats://u:s3cret@h:2",
				RECEIVE_PORT: "0",
				API_PORT: "0",
				KUBERNETES_SERVICE_HOST: "127.0.0.1",
				KUBECONFIG: "",
			},
			role,
		);
		expect(stderr).toContain("NATS_URL has servers with nats:// and");
		expect(stderr).not.toContain("s3cret");
		expect(status).toBe(2);
	},
);

test("no command runs with the verification of certificates switched off", () => {
	const { status, stderr } = tidemillWith(
		{ NODE_TLS_REJECT_UNAUTHORIZED: "0" },
		"check",
	);
	expect(stderr).toContain('NODE_TLS_REJECT_UNAUTHORIZED is "0"');
	expect(status).toBe(2);
});
