// The client that npm's users of Postgres have, in JavaScript alone.

import { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
	type ConnectionOptions,
	checkServerIdentity,
	TLSSocket,
} from "node:tls";
import pg from "pg";
// COPY, which the client leaves to this package of its makers.
import { from as copyFrom } from "pg-copy-streams";
import { unboundReason } from "../../definition/binding.ts";
import { lineProblem } from "../../definition/definition.ts";
import {
	certificateWarning,
	checkedLookup,
	type HostRules,
	hostRules,
	requireHost,
} from "../../load/checked-host.ts";
import { secretFile, type WarehouseContext } from "../../load/warehouse.ts";
import {
	fileEnv,
	type PostgresInput,
	type SslMode,
	targetOf,
} from "../input.ts";
import {
	AuthenticatedConnection,
	failureOf,
	isVerified,
	PostgresFailure,
} from "./failure.ts";

/** The oldest version that gets fixes of its makers (postgresql.org/support/versioning). */
const oldest = 14;
const connectMs = 15_000;

/**
 * What a transaction begins with, since a pooler gives each one another session. Times are UTC and dates ISO; what waits for a lock
 * or hangs gives up, and what a dead Job left ends.
 */
const settings = [
	"SET LOCAL TimeZone = 'UTC'",
	"SET LOCAL DateStyle = 'ISO'",
	"SET LOCAL search_path = pg_catalog",
	"SET LOCAL lock_timeout = '30s'",
	"SET LOCAL statement_timeout = '1h'",
	"SET LOCAL idle_in_transaction_session_timeout = '10min'",
].join("; ");

/** For a transaction that must see each row: the server refuses a statement if a policy applies (42501). */
export const seeAll = "SET LOCAL row_security = off";

/** Runs statements in the transaction that it is given for. */
export interface Transaction {
	/** Rows of a statement; 64-bit integers are texts. */
	rows<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]>;
	run(sql: string, values?: unknown[]): Promise<number>;
	/** COPY … FROM STDIN; returns how many rows it copied. */
	copy(sql: string, chunks: AsyncIterable<Uint8Array>): Promise<number>;
}

/** A database, by one connection. Throws {@link JobFailure}. */
export class Database {
	readonly #client: pg.Client;
	readonly #server: string;
	readonly #signal: AbortSignal;
	readonly version: number;
	/** What people should know of the connection. */
	readonly warning: string | undefined;

	static async open(
		input: PostgresInput,
		{ signal }: Pick<WarehouseContext, "signal">,
	): Promise<Database> {
		const required = async (name: keyof typeof fileEnv): Promise<string> => {
			const content = await secretFile(fileEnv[name]);
			if (content !== undefined) return content;
			const isUsers = name === "username" || name === "password";
			throw new PostgresFailure(
				isUsers ? "CredentialsRefused" : "DatabaseMissing",
				`The Job has no ${name} for Postgres`,
			);
		};
		const [user, password, host, port, database, authorities] =
			await Promise.all([
				required("username"),
				required("password"),
				input.host ?? required("host"),
				input.port ?? secretFile(fileEnv.port),
				input.database ?? required("dbname"),
				secretFile(fileEnv.authorities),
			]);
		requireLines({
			username: user,
			password,
			host,
			port,
			database,
			schema: input.schema,
		});
		const hostPort = Number(port ?? 5432);
		const server = `${host}:${hostPort}`;
		const hasAuthorities = authorities !== undefined;
		const refusal = unboundReason(
			targetOf(input, { host, port: hostPort, hasAuthorities }),
			input.bound,
		);
		if (refusal !== undefined)
			throw new PostgresFailure("HostNotBound", refusal);
		const rules = hostRules(input, host);
		const ssl = tlsOptions(input.sslMode, host, authorities);
		const connection = new AuthenticatedConnection(
			{ ssl, keepAlive: true, stream: () => checkedSocket(rules) },
			isVerified(input, authorities),
		);
		const client = new pg.Client({
			user,
			password,
			host,
			port: hostPort,
			database,
			application_name: "tidemill",
			ssl,
			connectionTimeoutMillis: connectMs,
			// Which its types leave out.
			...{ connection },
		});
		const lost = (error: Error) => failed.push(error);
		const failed: Error[] = [];
		client.on("error", lost);
		const stop = () => void client.end().catch(() => undefined);
		try {
			requireHost(host, rules);
			signal.throwIfAborted();
			await client.connect();
			signal.addEventListener("abort", stop, { once: true });
			const { stream } = connection;
			const { rows } = await client.query("SHOW server_version_num");
			const version = Math.floor(Number(rows[0].server_version_num) / 10_000);
			if (version < oldest)
				throw new PostgresFailure(
					"PostgresTooOld",
					`The server ${server} is Postgres ${version}, and Tidemill needs ${oldest} or newer`,
				);
			const warning =
				stream instanceof TLSSocket
					? certificateWarning(stream, server)
					: undefined;
			return new Database(client, server, signal, version, warning);
		} catch (error) {
			stop();
			signal.throwIfAborted();
			throw failureOf(error, server);
		}
	}

	private constructor(
		client: pg.Client,
		server: string,
		signal: AbortSignal,
		version: number,
		warning: string | undefined,
	) {
		this.#client = client;
		this.#server = server;
		this.#signal = signal;
		this.version = version;
		this.warning = warning;
	}

	/** Runs `work` in one transaction: after an error or a crash, none of it has happened. */
	async transaction<T>(
		work: (transaction: Transaction) => Promise<T>,
		isolation = "READ COMMITTED",
	): Promise<T> {
		return this.#guarded(async () => {
			await this.#client.query(
				`BEGIN ISOLATION LEVEL ${isolation}; ${settings}`,
			);
			try {
				const result = await work(this.#inTransaction);
				await this.#client.query("COMMIT");
				return result;
			} catch (error) {
				await this.#client.query("ROLLBACK").catch(() => undefined);
				throw error;
			}
		});
	}

	/**
	 * Pages of rows of one query that may only read, and of which no policy hides one, as Postgres writes its values. Names without a schema are looked up in this one
	 * first.
	 */
	async *read(
		schema: string,
		sql: string,
	): AsyncGenerator<pg.QueryArrayResult> {
		const ask = (text: string) =>
			this.#client.query({
				text,
				rowMode: "array",
				// As texts. In this mode a statement is one alone.
				types: { getTypeParser: () => String },
				queryMode: "extended",
			} as pg.QueryArrayConfig);
		await this.#guarded(async () => {
			await this.#client.query(`BEGIN READ ONLY; ${settings}; ${seeAll}`);
			await this.#client.query(
				"SELECT set_config('search_path', quote_ident($1) || ', public', true)",
				[schema],
			);
		});
		try {
			await this.#guarded(() =>
				ask(`DECLARE tidemill NO SCROLL CURSOR FOR ${sql}`),
			);
			for (;;) {
				const page = await this.#guarded(() => ask("FETCH 1000 FROM tidemill"));
				yield page;
				if (page.rows.length === 0) return;
			}
		} finally {
			await this.#client.query("ROLLBACK").catch(() => undefined);
		}
	}

	/** For what Postgres runs outside of transactions only. */
	alone(sql: string): Promise<void> {
		return this.#guarded(async () => {
			await this.#client.query(sql);
		});
	}

	async close(): Promise<void> {
		// A connection that is lost needs no end.
		await this.#client.end().catch(() => undefined);
	}

	readonly #inTransaction: Transaction = {
		rows: async (sql, values) => {
			this.#signal.throwIfAborted();
			return (await this.#client.query(sql, values)).rows;
		},
		run: async (sql, values) => {
			this.#signal.throwIfAborted();
			return (await this.#client.query(sql, values)).rowCount ?? 0;
		},
		copy: async (sql, chunks) => {
			const stream = this.#client.query(copyFrom(sql));
			await pipeline(
				Readable.from(chunks, { objectMode: false, highWaterMark: 1 << 20 }),
				stream,
				{ signal: this.#signal },
			);
			return stream.rowCount;
		},
	};

	async #guarded<T>(work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} catch (error) {
			this.#signal.throwIfAborted();
			throw failureOf(error, this.#server);
		}
	}
}

/** They enter the first messages, which another server may take for lines of its own protocol. No value is told. */
function requireLines(values: Record<string, unknown>): void {
	for (const [name, value] of Object.entries(values)) {
		const problem = lineProblem(String(value ?? ""));
		if (problem !== undefined)
			throw new PostgresFailure(
				name === "database" || name === "schema"
					? "DatabaseMissing"
					: "CredentialsRefused",
				`The ${name} for Postgres ${problem}`,
			);
	}
}

/** A socket that connects to addresses that were checked, and asks no name server again. */
function checkedSocket(rules: HostRules): Socket {
	const socket = new Socket();
	const connect = socket.connect.bind(socket) as (options: object) => Socket;
	return Object.assign(socket, {
		connect: (port: number, host: string) =>
			connect({ port, host, lookup: checkedLookup(rules) }),
	});
}

/** As libpq's sslmode (postgresql.org/docs/current/libpq-ssl.html). */
export function tlsOptions(
	mode: SslMode,
	host: string,
	authorities: string | undefined,
): false | ConnectionOptions {
	if (mode === "disable") return false;
	return {
		// Of an address, whose name isn't sent (RFC 6066 §3).
		host,
		...(authorities !== undefined && { ca: authorities }),
		// As libpq: with authorities, `require` verifies as verify-ca does.
		rejectUnauthorized: mode !== "require" || authorities !== undefined,
		checkServerIdentity: (name, certificate) =>
			mode === "verify-full"
				? checkServerIdentity(name, certificate)
				: undefined,
	};
}
