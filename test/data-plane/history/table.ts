import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import { Fault } from "../../support/doubles/bigquery/fault.ts";
import type { ObjectServer } from "../../support/doubles/object-server.ts";
import {
	bigQueryOf,
	destinationOf,
} from "../../support/examples/resource-examples.ts";
import { bigQueryFixture } from "../../support/fixtures/data-plane/bigquery-fixture.ts";
import {
	type LoadFixture,
	loadFixture,
} from "../../support/fixtures/data-plane/load-fixture.ts";
import { postgresFixture } from "../../support/fixtures/data-plane/postgres-fixture.ts";
import type { PostgresServer } from "../../support/servers/postgres.ts";
import { Hands } from "./hands.ts";

/** What a table holds: of each date by the rows' times, the rows as text, in order. */
export type TableRows = ReadonlyMap<UtcDate, readonly string[]>;

/** A warehouse as people see it, who may change its tables by hand. */
export interface HandledWarehouse {
	destination: ReturnType<typeof destinationOf>;
	load: LoadFixture["load"];
	objects: ObjectServer;
	/** Undefined if there is no such table. */
	read(table: string): Promise<TableRows | undefined>;
	/** The name by which `change` knows a table. */
	nameOf(table: string): string;
	change(sql: string): Promise<unknown>;
	drop(table: string): Promise<unknown>;
	/** Takes the mark that loads leave on a table. */
	unmark(table: string): Promise<unknown>;
	/** What people put beside it; absent where nothing is tried. */
	hands?: Hands;
	/** From the n-th request on, an attempt is struck. */
	strike(requests: number): Strike;
	/** As much later after the n-th request, an attempt's process gets SIGKILL. */
	kill(requests: number, afterMs: number): Strike;
}

/** What befalls an attempt. */
export interface Strike {
	/** Its process leaves no result, if it was in time. */
	isKill?: true;
	during: LoadFixture["load"];
}

/**
 * Loads in a process of its own, which is killed.
 * @param listen has the function called with each request.
 */
function killed(
	start: LoadFixture["start"],
	listen: (onRequest: () => void) => void,
	[requests, afterMs]: [number, number],
): Strike {
	return {
		isKill: true,
		during: async (...load) => {
			const { process, finish } = await start(...load);
			let left = requests;
			listen(() => {
				if (left-- === 0)
					setTimeout(() => process.child.kill("SIGKILL"), afterMs);
			});
			const end = await finish();
			listen(() => undefined);
			return end;
		},
	};
}

/** Each download is a request. */
function struckByDownloads({
	store,
	load,
	start,
}: Pick<LoadFixture, "store" | "load" | "start">): Pick<
	HandledWarehouse,
	"strike" | "kill"
> {
	return {
		strike: (requests) => ({
			during: async (manifest, options) => {
				const stop = new AbortController();
				let left = requests;
				store.onRequest = () => {
					if (--left < 0) stop.abort();
				};
				const { signal } = stop;
				const end = await load(manifest, { ...options, signal });
				store.onRequest = () => undefined;
				return end;
			},
		}),
		kill: (...when) => {
			const listen = (onRequest: () => void) => {
				store.onRequest = onRequest;
			};
			return killed(start, listen, when);
		},
	};
}

export function rowText(id: string, timeMs: number, body: string): string {
	return `${id} ${timeMs} ${body}`;
}

const rowsSql = (table: string) =>
	`select event_id, epoch_us(timestamp)::varchar, body from ${table}`;

function byDate(rows: unknown[][]): TableRows {
	const all = rows.map(([id, us, body]) => ({
		date: utcDate(Number(us) / 1000),
		text: rowText(String(id), Number(us) / 1000, String(body)),
	}));
	return new Map(
		[...Map.groupBy(all, ({ date }) => date)].map(([date, found]) => [
			date,
			found.map(({ text }) => text).sort(),
		]),
	);
}

export const warehouses = {
	DuckDB: async (): Promise<HandledWarehouse> => {
		const fixture = await loadFixture();
		const { load, store, rows, change } = fixture;
		const exists = async (table: string) =>
			(
				await rows(
					`select 1 from duckdb_tables() where schema_name = 'main' and table_name = '${table}'`,
				).catch(() => [])
			).length > 0;
		return {
			destination: destinationOf("files", "shop.duckdb"),
			load,
			objects: store,
			read: async (table) =>
				(await exists(table)) ? byDate(await rows(rowsSql(table))) : undefined,
			nameOf: (table) => table,
			change,
			drop: (table) => change(`drop table ${table}`),
			unmark: (table) => change(`comment on table ${table} is 'mine'`),
			...struckByDownloads(fixture),
		};
	},
	Postgres: async (server?: PostgresServer): Promise<HandledWarehouse> => {
		if (!server) throw new Error("A history in Postgres needs a server");
		const fixture = await postgresFixture(server);
		const { store, sql, destination, database, user } = fixture;
		// The operator's decisions are those of a file, which needs no Secret.
		const into =
			<Loaded>(
				load: (...of: Parameters<LoadFixture["load"]>) => Promise<Loaded>,
			) =>
			(...[manifest, options]: Parameters<LoadFixture["load"]>) =>
				load(manifest, {
					...options,
					input: { ...options?.input, destination },
				});
		const load = into(fixture.load);
		const hands = new Hands(server, database, user);
		const nameOf = (table: string) => `webhooks.${table}`;
		return {
			destination: destinationOf("files", "shop.duckdb"),
			load,
			objects: store,
			read: async (table) => {
				const [[found] = []] = await sql(
					`SELECT to_regclass('${nameOf(table)}')`,
				);
				return found === null
					? undefined
					: byDate(
							await sql(
								`SELECT event_id, (extract(epoch FROM timestamp) * 1000000)::bigint, body FROM ${nameOf(table)}`,
							),
						);
			},
			nameOf,
			change: sql,
			drop: async (table) => {
				await sql(`DROP TABLE ${nameOf(table)} CASCADE`);
				await hands.forget(nameOf(table));
			},
			unmark: (table) => sql(`COMMENT ON TABLE ${nameOf(table)} IS 'mine'`),
			hands,
			...struckByDownloads({ store, load, start: into(fixture.start) }),
		};
	},
	BigQuery: async (): Promise<HandledWarehouse> => {
		const { load, start, store, rows, double } = await bigQueryFixture();
		const reference = (tableId: string) => ({
			projectId: double.projectId,
			datasetId: "shop",
			tableId,
		});
		const { projectId, endpoint: apiEndpoint } = double;
		return {
			destination: bigQueryOf("lake", {
				projectId,
				dataset: "shop",
				apiEndpoint,
			}),
			load,
			objects: store,
			read: async (table) =>
				double.warehouse.find(reference(table))
					? byDate(await rows(rowsSql(`shop.${table}`)))
					: undefined,
			nameOf: (table) => `shop.${table}`,
			change: rows,
			drop: (table) => double.warehouse.deleteTable(reference(table)),
			unmark: async (table) => double.warehouse.setLabels(reference(table), {}),
			strike: (requests) => ({
				during: async (...attempt) => {
					let left = requests;
					double.onRequest = () =>
						--left < 0 ? new Fault(403, "accessDenied", "Struck") : undefined;
					const end = await load(...attempt);
					double.onRequest = () => undefined;
					return end;
				},
			}),
			kill: (...when) => {
				const listen = (onRequest: () => void) => {
					double.onRequest = () => {
						onRequest();
						return undefined;
					};
				};
				return killed(start, listen, when);
			},
		};
	},
};
