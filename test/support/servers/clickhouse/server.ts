import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../../../local/machine/ports.ts";
import { answersOk } from "../../../../local/machine/program.ts";
import { pythonEnvironment } from "../python.ts";
import {
	startServer,
	type TestServer,
	temporaryDirectory,
} from "../test-server.ts";

/** ClickHouse 26.9 as a library. No server of this age is in a package registry. */
const packages = ["chdb==4.4.0", "chdb-core==26.9.0"];

/** ClickHouse's engine behind front.py, which says what of it is the real thing. */
export interface ClickHouseServer extends TestServer {
	url: string;
	user: string;
	password: string;
	/** Rows of a statement, each as a list of values; none for a statement without a result. */
	rows(sql: string): Promise<unknown[][]>;
}

export interface ClickHouseOptions {
	/** Of an older server, which the engine says that it is. */
	version?: string;
	/** Refuses statements that this regular expression matches, as a user without the right to them sees it. */
	deny?: string;
	/** By database: which rows of its table `orders` the user sees, as a condition. */
	policies?: Record<string, string>;
	env?: Record<string, string>;
}

export async function startClickHouse({
	version = "",
	deny = "",
	policies = {},
	env = {},
}: ClickHouseOptions = {}): Promise<ClickHouseServer> {
	const bin = await pythonEnvironment("clickhouse-26.9.0", packages);
	const directory = await temporaryDirectory("clickhouse");
	const port = await freePort();
	const [user, password] = ["tidemill", randomBytes(12).toString("base64url")];
	const url = `http://127.0.0.1:${port}`;
	const config = join(directory, "config.xml");
	const hasPolicies = Object.keys(policies).length > 0;
	if (hasPolicies) {
		const users = join(directory, "users.xml");
		const filters = Object.entries(policies).map(
			([database, condition]) =>
				`<${database}><orders><filter>${condition}</filter></orders></${database}>`,
		);
		await writeFile(
			users,
			`<clickhouse><users><default><password/><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>
			<databases>${filters.join("")}</databases></default></users><profiles><default/></profiles><quotas><default/></quotas></clickhouse>`,
		);
		await writeFile(
			config,
			`<clickhouse><users_config>${users}</users_config></clickhouse>`,
		);
	}
	const settings: Record<string, string> = {
		data: join(directory, "data"),
		port: String(port),
		user,
		password,
		version,
		deny,
		config: hasPolicies ? config : "",
	};
	const server = await startServer(
		{
			name: "clickhouse",
			command: join(bin, "python"),
			args: [
				join(import.meta.dirname, "front.py"),
				...Object.entries(settings).map(
					([name, value]) => `--${name}=${value}`,
				),
			],
			env,
			isReady: () => answersOk(`${url}/ping`),
			stopTimeoutMs: 10_000,
		},
		directory,
	);
	const rows = async (sql: string) => {
		const response = await fetch(`${url}/?default_format=JSONCompactEachRow`, {
			method: "POST",
			headers: { "X-ClickHouse-User": user, "X-ClickHouse-Key": password },
			body: sql,
		});
		const text = await response.text();
		if (!response.ok) throw new Error(text);
		return text
			.split("\n")
			.filter(Boolean)
			.map((line) => JSON.parse(line));
	};
	return Object.assign(server, { url, user, password, rows });
}
