import { createHash } from "node:crypto";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { SettingError } from "../../service/settings.ts";
import type { PrepareLocalServer } from "../definition/local-server.ts";

const host = "127.0.0.1";
const user = "tidemill";

/** A person brings the program: nothing that we may pin has it. */
export const prepare: PrepareLocalServer = async ({
	directory,
	port,
	password,
}) => {
	const command = join(process.env.TIDEMILL_BIN ?? "", "clickhouse");
	const isThere = await access(command).then(
		() => Boolean(process.env.TIDEMILL_BIN),
		() => false,
	);
	if (!isThere)
		throw new SettingError(
			"CLICKHOUSE=1 needs the program `clickhouse`, which Tidemill doesn't fetch. Get it into a folder by `curl https://clickhouse.com/ | sh` there, and start again with TIDEMILL_BIN set to that folder. Or start without CLICKHOUSE=1, and make a Destination for a server of your own.",
		);
	await mkdir(directory, { recursive: true, mode: 0o700 });
	const inside = (name: string) => join(directory, name);
	// clickhouse.com/docs/operations/configuration-files
	await writeFile(
		inside("config.yaml"),
		stringify({
			logger: { level: "warning", console: true },
			listen_host: host,
			http_port: port,
			path: inside("data/"),
			tmp_path: inside("tmp/"),
			user_files_path: inside("user_files/"),
			format_schema_path: inside("format_schemas/"),
			user_directories: { users_xml: { path: inside("users.yaml") } },
		}),
		{ mode: 0o600 },
	);
	await writeFile(
		inside("users.yaml"),
		stringify({
			profiles: { default: {} },
			quotas: { default: {} },
			users: {
				[user]: {
					password_sha256_hex: createHash("sha256")
						.update(password)
						.digest("hex"),
					networks: { ip: host },
					profile: "default",
					quota: "default",
					access_management: 1,
				},
			},
		}),
		{ mode: 0o600 },
	);
	const url = `http://${host}:${port}`;
	return {
		command,
		args: ["server", `--config-file=${inside("config.yaml")}`],
		isReady: () =>
			fetch(`${url}/ping`, { signal: AbortSignal.timeout(1_000) }).then(
				({ ok }) => ok,
				() => false,
			),
		stopTimeoutMs: 10_000,
		secret: {
			type: "kubernetes.io/basic-auth",
			stringData: { username: user, password, url },
		},
		// On the loopback, it needs no TLS.
		hosts: url,
		// By which clickhouse-client finds the user, and dbt the server.
		variables: {
			CLICKHOUSE_URL: url,
			CLICKHOUSE_HOST: host,
			CLICKHOUSE_PORT: String(port),
			CLICKHOUSE_USER: user,
			CLICKHOUSE_PASSWORD: password,
		},
		address: url,
	};
};
