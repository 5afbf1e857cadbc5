import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { rootCertificates, type TLSSocket } from "node:tls";
// The makers' own client, which sends settings, credentials and streams as the server takes them.
import {
	type ClickHouseClient,
	type ClickHouseSettings,
	createClient,
} from "@clickhouse/client";
import { parseBinding, unboundReason } from "../../definition/binding.ts";
import { lineProblem } from "../../definition/definition.ts";
import {
	certificateWarning,
	checkedLookup,
	hostRules,
	requireHost,
} from "../../load/checked-host.ts";
import { JobFailure } from "../../load/failure.ts";
import { secretFile, type WarehouseContext } from "../../load/warehouse.ts";
import { type ClickHouseInput, fileEnv } from "../definition.ts";
import {
	ClickHouseFailure,
	connectionFailure,
	serverFailure,
} from "./failure.ts";
import { quoteText } from "./statements.ts";

/** A server that says nothing for so long has gone. While a statement works, it sends a header every ten seconds. */
const silenceMs = 60_000;

/** How long a statement may work. */
const statementSeconds = 3_600;

/** What each statement is run with. */
const settings = {
	// The status of an answer is that of the whole statement (clickhouse.com/docs/interfaces/http#response-buffering).
	wait_end_of_query: 1,
	send_progress_in_http_headers: 1,
	http_headers_progress_interval_ms: "10000",
	max_execution_time: statementSeconds,
	// An INSERT that is answered is in the table, and one that looks like another isn't left out.
	async_insert: 0,
	insert_deduplicate: 0,
	// A file that lacks a column is refused, and isn't taken as one of empty values.
	input_format_parquet_allow_missing_columns: 0,
	// Two members that are one path, such as {"a":{"b":1},"a.b":2}, would fail the whole INSERT.
	type_json_skip_duplicated_paths: 1,
	// A string of a body that looks like a date stays the string that was sent.
	input_format_try_infer_dates: 0,
	input_format_try_infer_datetimes: 0,
} as const;

/** What one server has written, the next one reads (clickhouse.com/docs/operations/settings/settings#select_sequential_consistency). */
const replicatedSettings = {
	insert_quorum: "auto",
	insert_quorum_parallel: 0,
	select_sequential_consistency: "1",
} as const;

/** A database of a server. Throws {@link JobFailure}. */
export class Connection {
	readonly input: ClickHouseInput;
	readonly #client: ClickHouseClient;
	readonly #agent: object;
	readonly #signal: AbortSignal;
	readonly #settings: ClickHouseSettings;

	static async open(
		input: ClickHouseInput,
		{ signal }: Pick<WarehouseContext, "signal">,
	): Promise<Connection> {
		const required = async (name: keyof typeof fileEnv): Promise<string> => {
			const content = await secretFile(fileEnv[name]);
			const problem = lineProblem(content ?? "");
			if (content !== undefined && problem === undefined) return content;
			throw new ClickHouseFailure(
				"CredentialsRefused",
				problem === undefined
					? `The Job has no ${name} for ClickHouse`
					: `The ${name} for ClickHouse ${problem}`,
			);
		};
		const [username, password, authorities] = await Promise.all([
			required("username"),
			required("password"),
			secretFile(fileEnv.authorities),
		]);
		const { ca, bound } = input;
		const target = parseBinding(input.url);
		const refusal = unboundReason(
			target && { ...target, ...(ca && { ca }) },
			bound,
		);
		if (refusal !== undefined)
			throw new ClickHouseFailure("HostNotBound", refusal);
		const { hostname, protocol } = new URL(input.url);
		const rules = hostRules(input, hostname);
		const options = {
			keepAlive: true,
			maxSockets: 4,
			lookup: checkedLookup(rules),
		};
		const agent =
			protocol === "https:"
				? new NotingAgent({
						...options,
						ca: [...rootCertificates, ...(authorities ? [authorities] : [])],
					})
				: new HttpAgent(options);
		try {
			requireHost(hostname, rules);
		} catch (error) {
			throw connectionFailure("", error as Error);
		}
		const client = createClient({
			url: input.url,
			username,
			password,
			application: "tidemill",
			http_agent: agent,
			request_timeout: silenceMs,
			compression: { request: false, response: false },
			// What fails is in the error that is thrown.
			log: { level: 127 },
		});
		return new Connection(input, client, signal, agent);
	}

	private constructor(
		input: ClickHouseInput,
		client: ClickHouseClient,
		signal: AbortSignal,
		agent: object,
	) {
		this.#agent = agent;
		this.input = input;
		this.#client = client;
		this.#signal = signal;
		this.#settings = {
			...settings,
			...(input.engine !== "MergeTree" && replicatedSettings),
		};
	}

	/** What people should know of the connection. */
	get warning(): string | undefined {
		const { socket } = this.#agent as Partial<NotingAgent>;
		return socket && certificateWarning(socket, new URL(this.input.url).host);
	}

	/** Runs a statement. */
	async run(query: string, values?: Readable): Promise<void> {
		await this.#answer(query, values);
	}

	/** The rows of a query. 64-bit integers are strings. */
	async rows<T>(query: string): Promise<T[]> {
		const lines = await this.#answer(`${query} FORMAT JSONEachRow`);
		return lines
			.split("\n")
			.filter(Boolean)
			.map((line) => JSON.parse(line));
	}

	close(): Promise<void> {
		return this.#client.close();
	}

	/** The lines of the answer to a statement that may only read. */
	async *lines(query: string): AsyncGenerator<string> {
		const reading = { ...this.#settings, readonly: "2" } as const;
		const answer = await this.#exec(query, reading, async (stream) => stream);
		const decoder = new TextDecoder();
		let line = "";
		for await (const chunk of answer) {
			const parts = (line + decoder.decode(chunk, { stream: true })).split(
				"\n",
			);
			line = parts.pop()!;
			yield* parts;
		}
		if (line) yield line;
	}

	#answer(query: string, values?: Readable): Promise<string> {
		return this.#exec(query, this.#settings, text, values);
	}

	async #exec<Answer>(
		query: string,
		settings: ClickHouseSettings,
		read: (stream: Readable) => Promise<Answer>,
		values?: Readable,
	): Promise<Answer> {
		// Its first words: the others may be values.
		const [action = ""] = /^\w+( [A-Z]+\b)*/.exec(query) ?? [];
		try {
			const {
				stream,
				response_headers,
				http_status_code = 0,
			} = await this.#client.exec({
				query,
				...(values && { values }),
				abort_signal: this.#signal,
				clickhouse_settings: settings,
				// Its headers say whether an error is the server's own.
				ignore_error_response: true,
			});
			const code = response_headers["x-clickhouse-exception-code"];
			if (http_status_code === 200 && code === undefined)
				return await read(stream);
			const answer = await text(stream);
			throw serverFailure(
				http_status_code,
				code === undefined ? undefined : answer,
			);
		} catch (error) {
			this.#signal.throwIfAborted();
			if (error instanceof JobFailure) throw error;
			throw connectionFailure(action, error as NodeJS.ErrnoException);
		}
	}
}

/** Keeps the latest connection, whose certificate people hear of before it ends. */
class NotingAgent extends HttpsAgent {
	socket: TLSSocket | undefined;

	override createConnection(
		...given: Parameters<HttpsAgent["createConnection"]>
	) {
		const socket = super.createConnection(...given) as TLSSocket;
		socket.once("secureConnect", () => {
			this.socket = socket;
		});
		return socket;
	}
}

/** What a server says of itself. */
export interface ServerFacts {
	version: string;
	/** The database's, such as `Atomic`; undefined if there is none. */
	databaseEngine: string | undefined;
	/** Of the cluster that the Destination names; 0 if the server knows none of that name. */
	shards: number | undefined;
}

/** The first version that a test or a page of the vendor vouches for. */
const oldest = [24, 8];
/** In which the type JSON is no experiment any more (clickhouse.com/docs/sql-reference/data-types/newjson). */
const oldestWithJSON = [25, 3];

export async function serverFacts(
	connection: Connection,
): Promise<ServerFacts> {
	const { database, cluster } = connection.input;
	const [[server], [found], shards] = await Promise.all([
		connection.rows<{ version: string }>("SELECT version() AS version"),
		connection.rows<{ engine: string }>(
			`SELECT engine FROM system.databases WHERE name = ${quoteText(database)}`,
		),
		cluster === undefined
			? []
			: connection.rows<{ shards: string }>(
					`SELECT toString(max(shard_num)) AS shards FROM system.clusters WHERE cluster = ${cluster.startsWith("{") ? `getMacro(${quoteText(cluster.slice(1, -1))})` : quoteText(cluster)}`,
				),
	]);
	return {
		version: server!.version,
		databaseEngine: found?.engine,
		shards: cluster === undefined ? undefined : Number(shards[0]?.shards),
	};
}

/** Throws {@link ClickHouseFailure} if a server can't have tables of ours. */
export function requireSuitable(
	{ version, databaseEngine, shards }: ServerFacts,
	{ database, cluster }: Pick<ClickHouseInput, "database" | "cluster">,
	needsJSON: boolean,
): void {
	if (isOlder(version, oldest))
		throw new ClickHouseFailure(
			"ClickHouseTooOld",
			`The server is ClickHouse ${version}, and Tidemill needs ${oldest.join(".")} or newer`,
		);
	// The Pipeline isn't ready, then.
	if (needsJSON && isOlder(version, oldestWithJSON))
		throw new JobFailure(
			"TableIncompatible",
			`The table has columns of type JSON, which need ClickHouse ${oldestWithJSON.join(".")} or newer, but the server is ${version}. Upgrade it, or load these columns as another type`,
		);
	if (databaseEngine === undefined)
		throw new ClickHouseFailure(
			"DatabaseMissing",
			`The server has no database "${database}", or the user may not see it`,
		);
	if (!/^(Atomic|Replicated|Shared)$/.test(databaseEngine))
		throw new ClickHouseFailure(
			"DatabaseUnsuitable",
			`The database "${database}" has the engine ${databaseEngine}, in which tables can't be exchanged at once. It must be Atomic, Replicated or Shared`,
		);
	if (shards !== undefined && shards !== 1)
		throw new ClickHouseFailure(
			"ClusterUnsuitable",
			shards > 1
				? `The cluster "${cluster}" has ${shards} shards, and a table must be whole on each server`
				: `The server knows no cluster "${cluster}"`,
		);
}

function isOlder(
	version: string,
	[major = 0, minor = 0]: readonly number[],
): boolean {
	const [found = 0, foundMinor = 0] = version.split(".").map(Number);
	return found < major || (found === major && foundMinor < minor);
}
