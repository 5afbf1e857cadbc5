import type { PostgresServer } from "../../support/servers/postgres.ts";

/** Something that people put beside a table of Postgres, and take away again. */
interface Hand {
	/** For one who knows the loader's role. */
	put: (table: string, loader: string) => string;
	take: (table: string) => string;
	/** With which errors a Run may fail because of it, and change nothing. */
	refuses: string[];
}

const mine = (table: string) => `webhooks.my_${table.split(".")[1]}`;

/** A rebuild is refused by each of them. */
const inUse = "TableInUse";

const hands: Record<string, Hand> = {
	"a foreign key with CASCADE": {
		put: (table) =>
			`DO $$ DECLARE key text := CASE (SELECT relkind FROM pg_class WHERE oid = '${table}'::regclass) WHEN 'p' THEN 'event_id, date' ELSE 'event_id' END; BEGIN
				EXECUTE format('ALTER TABLE ${table} ADD CONSTRAINT once UNIQUE (%s)', key);
				EXECUTE format('CREATE TABLE ${mine(table)}_notes AS SELECT %s FROM ${table} WHERE event_id NOT LIKE ''hand-%%''', key);
				EXECUTE format('ALTER TABLE ${mine(table)}_notes ADD FOREIGN KEY (%s) REFERENCES ${table} (%s) ON DELETE CASCADE', key, key);
			END $$`,
		take: (table) =>
			`DROP TABLE ${mine(table)}_notes; ALTER TABLE ${table} DROP CONSTRAINT once`,
		refuses: [inUse],
	},
	"a trigger that refuses": {
		put: (table, loader) =>
			`CREATE OR REPLACE FUNCTION webhooks.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF current_user = '${loader}' THEN RAISE 'not today'; END IF;
				RETURN COALESCE(NEW, OLD);
			END $$;
			CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION webhooks.refuse()`,
		take: (table) => `DROP TRIGGER refuse ON ${table}`,
		refuses: [inUse, "RowsRefused"],
	},
	"row security": {
		put: (table) =>
			`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY; CREATE POLICY mine ON ${table} USING (true)`,
		take: (table) =>
			`DROP POLICY mine ON ${table}; ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`,
		refuses: [inUse],
	},
	"a view on the latest view": {
		put: (table) =>
			`CREATE VIEW ${mine(table)}_view AS SELECT event_id, body FROM ${table}_latest`,
		take: (table) => `DROP VIEW ${mine(table)}_view`,
		refuses: [inUse],
	},
	"a publication": {
		put: (table) =>
			`ALTER TABLE ${table} REPLICA IDENTITY FULL; CREATE PUBLICATION ${mine(table).split(".")[1]} FOR TABLE ${table}`,
		take: (table) =>
			`DROP PUBLICATION ${mine(table).split(".")[1]}; ALTER TABLE ${table} REPLICA IDENTITY DEFAULT`,
		refuses: [inUse],
	},
};

/** What stands beside the tables of a history. */
export class Hands {
	readonly #server: PostgresServer;
	readonly #database: string;
	readonly #loader: string;
	/** By table. */
	readonly #put = new Map<string, Set<string>>();

	constructor(server: PostgresServer, database: string, loader: string) {
		this.#server = server;
		this.#database = database;
		this.#loader = loader;
	}

	/** Puts something beside a table, or takes it away. Returns what was done. */
	async use(table: string, random: () => number): Promise<string> {
		const names = Object.keys(hands);
		const name = names[Math.floor(random() * names.length)]!;
		const put = this.#put.get(table) ?? new Set();
		this.#put.set(table, put);
		const { put: add, take } = hands[name]!;
		const isThere = put.has(name);
		const sql = isThere ? take(table) : add(table, this.#loader);
		try {
			await this.#server.rows(sql, this.#database);
		} catch (error) {
			// A row twice has no key, and a table that was never loaded no view.
			return `${name} can't be: ${(error as Error).message}`;
		}
		if (isThere) put.delete(name);
		else put.add(name);
		return `${isThere ? "takes away" : "puts"} ${name}`;
	}

	refusals(table: string): string[] {
		return [...(this.#put.get(table) ?? [])].flatMap(
			(name) => hands[name]!.refuses,
		);
	}

	/** The events that somebody's rows refer to. */
	async notes(table: string): Promise<string[]> {
		if (!this.#put.get(table)?.has("a foreign key with CASCADE")) return [];
		const sql = `SELECT event_id FROM ${mine(table)}_notes ORDER BY 1`;
		return (await this.#server.rows(sql, this.#database)).flat() as string[];
	}

	/** With the table they go. */
	async forget(table: string): Promise<void> {
		this.#put.delete(table);
		const sql = `DROP TABLE IF EXISTS ${mine(table)}_notes; DROP PUBLICATION IF EXISTS ${mine(table).split(".")[1]}`;
		await this.#server.rows(sql, this.#database);
	}

	/**
	 * Somebody reads the table while `work` is done, until that waits for him, and finds at the end what he found at the beginning.
	 * Throws if not.
	 */
	async whileRead<T>(table: string, work: () => Promise<T>): Promise<T> {
		const reader = await this.#server.connect(this.#database);
		const count = async () =>
			(await reader.query(`SELECT count(*) FROM ${table}`)).rows;
		try {
			await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
			const before = JSON.stringify(await count());
			const pid = (await reader.query("SELECT pg_backend_pid() AS pid")).rows[0]
				.pid;
			let isDone = false;
			const done = work().finally(() => {
				isDone = true;
			});
			done.catch(() => undefined);
			// A look every 50 ms.
			const waits = `SELECT pg_sleep(0.05), (SELECT count(*) FROM pg_locks WHERE NOT granted AND ${pid} = ANY(pg_blocking_pids(pid))) AS waiting`;
			while (!isDone && (await reader.query(waits)).rows[0].waiting === "0");
			const after = JSON.stringify(await count());
			if (after !== before)
				throw new Error(`A reader found ${before}, and then ${after}`);
			await reader.query("COMMIT");
			return await done;
		} finally {
			await reader.end();
		}
	}
}
