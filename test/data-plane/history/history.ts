import type { PipelineSpec } from "../../../crds/generated/types.ts";
import { quarantineTableOf } from "../../../crds/table-name.ts";
import {
	addDays,
	startOfDate,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";
import { randomOf } from "../../support/seeded-random.ts";
import type { PostgresServer } from "../../support/servers/postgres.ts";
import { HistoryLake } from "./lake.ts";
import { TableModel } from "./model.ts";
import { type AskedRun, HistoryPipeline } from "./pipeline.ts";
import { type HandledWarehouse, warehouses } from "./table.ts";

const hourMs = 3_600_000;
const keys = { orders: "a".repeat(32), refunds: "b".repeat(32) };
const columns: PipelineSpec["table"]["columns"] = [
	"EventID",
	"Timestamp",
	"Body",
	"Date",
];

/**
 * One random history of a Pipeline, the same for the same seed: events come and are imported, days pass, people change the table
 * and the spec, Runs succeed, fail and are struck. After each Run the table is compared with the model. Returns what happened.
 * Throws what is wrong, with all steps.
 */
export async function runHistory(
	warehouse: keyof typeof warehouses,
	seed: number,
	steps: number,
	postgres?: PostgresServer,
): Promise<string[]> {
	const history = await History.begin(warehouse, seed, postgres);
	try {
		for (let step = 0; step < steps; step++) await history.step();
		await history.end();
		return history.told;
	} catch (error) {
		const told = history.told.map((text, step) => `${step} ${text}`);
		const { message } = error as Error;
		throw new Error(
			`${warehouse}, seed ${seed}: ${message}\n${told.join("\n")}`,
			{ cause: error },
		);
	}
}

class History {
	readonly told: string[] = [];
	readonly #random: () => number;
	readonly #table: HandledWarehouse;
	readonly #lake: HistoryLake;
	readonly #pipeline: HistoryPipeline;
	readonly #model: TableModel;
	#events = 0;

	static async begin(
		warehouse: keyof typeof warehouses,
		seed: number,
		postgres?: PostgresServer,
	) {
		const history = new History(await warehouses[warehouse](postgres), seed);
		for (let day = 0; day < 5; day++) {
			await history.#receive();
			history.#lake.nowMs += 24 * hourMs;
		}
		return history;
	}

	private constructor(table: HandledWarehouse, seed: number) {
		this.#random = randomOf(seed);
		this.#table = table;
		// So that no step is in the future of the processes' own clock.
		const startMs =
			Date.now() - (Date.now() % (24 * hourMs)) - 60 * 24 * hourMs;
		this.#lake = new HistoryLake(table.objects, startMs);
		this.#lake.skewMs = (this.#random() - 0.5) * 20 * 60_000;
		const { destination, load } = table;
		this.#pipeline = new HistoryPipeline(this.#lake, destination, load, keys);
		if (this.#random() < 0.5) this.#pipeline.spec.table.quarantine = true;
		if (table.hands) this.#pipeline.spec.table.latestBy = ["event_id"];
		this.#model = new TableModel(this.#lake, this.#pipeline, (name) =>
			table.hands?.refusals(table.nameOf(name)),
		);
	}

	async step(): Promise<void> {
		this.#lake.nowMs += 1_000 + Math.floor(this.#random() * 60_000);
		const run = (trigger: AskedRun["trigger"], more = {}) =>
			this.#run({ trigger, ...more });
		await this.#one<() => Promise<unknown>>([
			[4, () => this.#receive()],
			[2, () => this.#quarantine()],
			[2, () => this.#import()],
			[2, () => this.#release()],
			[2, () => this.#compact()],
			[3, () => this.#pass()],
			[3, () => this.#change()],
			...(this.#table.hands
				? [[6, () => this.#use()] as [number, () => Promise<unknown>]]
				: []),
			[3, () => this.#edit()],
			[6, () => run("Schedule")],
			// Before anything else replaces what was changed.
			[2, async () => [await this.#change(), await run("Schedule")]],
			// A person loads what was imported, before the schedule does.
			[
				2,
				async () => {
					const date = await this.#import();
					await run("Manual", { dates: { start: date, end: date } });
					await run("Schedule");
				},
			],
			[1, () => run("Manual")],
			[1, () => run("Manual", { full: true })],
			[1, () => run("Manual", { dates: this.#someDates() })],
			[1, () => run("Schedule", this.#strike())],
			[1, () => run("Manual", { full: true, ...this.#strike() })],
			[1, () => run("Schedule", { isLost: true })],
			[0.5, () => run("Schedule", this.#kill())],
			[0.5, () => run("Manual", { full: true, ...this.#kill() })],
		])();
	}

	/** Whatever has happened: with leave to rebuild, a Run of the whole window makes everything right. */
	async end(): Promise<void> {
		this.told.push("the end");
		const { spec } = this.#pipeline;
		await this.#drop();
		spec.dateRange = { end: "Today" };
		spec.table.onIncompatible = "Rebuild";
		const { phase, code } = await this.#run({ trigger: "Manual", full: true });
		if (phase !== "Succeeded") throw new Error(`The last Run failed: ${code}`);
	}

	async #receive(): Promise<void> {
		const { today, nowMs } = this.#lake;
		const name = this.#one<keyof typeof keys>([
			[4, "orders"],
			[2, "refunds"],
		]);
		const events = this.#newEvents(name, () => nowMs);
		this.told.push(`${events.length} events of ${name} come on ${today}`);
		// Each as an object of its own, so that there is something to compact.
		for (const event of events)
			await this.#lake.receive(keys[name], today, [event]);
	}

	async #import(): Promise<UtcDate> {
		const name = this.#one<keyof typeof keys>([
			[3, "orders"],
			[1, "refunds"],
		]);
		const date = addDays(this.#lake.today, -Math.floor(this.#random() * 28));
		const events = this.#newEvents(name, () => startOfDate(date));
		this.told.push(
			`${events.length} events of ${name} are imported on ${date}`,
		);
		await this.#lake.add(keys[name], date, events);
		this.#model.added(keys[name], date);
		return date;
	}

	async #quarantine(): Promise<void> {
		const { today, nowMs } = this.#lake;
		const events = this.#newEvents("orders", () => nowMs).map((event) => ({
			...event,
			violations: "{}",
		}));
		this.told.push(`${events.length} events come into quarantine on ${today}`);
		await this.#lake.receive(keys.orders, today, events, true);
	}

	async #release(): Promise<void> {
		const apart = [...this.#lake.quarantinedOf(keys.orders)].filter(
			([, events]) => events.size > 0,
		);
		if (apart.length === 0) return;
		const [date, events] = this.#one(apart.map((each) => [1, each]));
		const released = [...events.values()].slice(0, 2);
		this.told.push(`${released.length} events of ${date} are released`);
		await this.#lake.release(keys.orders, date, released);
		this.#model.added(keys.orders, date);
	}

	async #compact(): Promise<void> {
		const dates = this.#lake.compactable(keys.orders);
		if (dates.length === 0) return;
		const date = this.#one(dates.map((each) => [1, each]));
		this.told.push(`${date} is compacted`);
		await this.#lake.compact(keys.orders, date);
	}

	async #pass(): Promise<void> {
		this.#lake.nowMs += Math.floor(this.#random() * 40 * hourMs);
		this.told.push(`it is ${new Date(this.#lake.nowMs).toISOString()}`);
	}

	/** People change the table by hand. */
	async #change(): Promise<void> {
		const name = this.#pipeline.spec.table.name!;
		const rows = await this.#table.read(name);
		if (!rows || rows.size === 0) return;
		const table = this.#table.nameOf(name);
		// Runs load the last dates most often.
		const dates = [...rows.keys()].sort();
		const date = this.#one(
			dates.map((date, index) => [(index + 1) ** 2, date]),
		);
		const id = rows.get(date)![0]!.split(" ")[0]!;
		const hasDate = this.#pipeline.spec.table.columns.includes("Date");
		const [ofDate, value] = hasDate ? [", date", `, date '${date}'`] : ["", ""];
		const insert = `insert into ${table} (event_id, timestamp, body${ofDate}) select 'hand-${++this.#events}', timestamptz '${date} 00:00:00.5+00', '{}'${value}`;
		const remove = `delete from ${table} where event_id = '${id}'`;
		const [words, statements] = this.#one<[string, string[]]>([
			[2, ["delete a row", [remove]]],
			[2, ["insert a row", [insert]]],
			[2, ["exchange a row", [remove, insert]]],
			[
				2,
				[
					"change a body",
					[`update ${table} set body = 'mine' where event_id = '${id}'`],
				],
			],
			[
				1,
				[
					"insert a row twice",
					[
						`insert into ${table} select * from ${table} where event_id = '${id}'`,
					],
				],
			],
			[1, ["drop the table", []]],
			[0.5, ["unmark the table", []]],
		]);
		this.told.push(`people ${words} on ${date} in ${table}`);
		if (words === "drop the table") await this.#drop();
		else if (words === "unmark the table") await this.#table.unmark(name);
		// Of a table with other columns than the spec has.
		else
			for (const sql of statements)
				await this.#table.change(sql).catch((error: Error) => {
					if (
						!/Binder Error|does not exist|unique constraint|replica identity|no partition/.test(
							error.message,
						)
					)
						throw error;
				});
		if (words !== "unmark the table") this.#model.handled(name, [date]);
		else this.#model.forgotRecord(name);
	}

	/** People put something beside the table, or take it away. */
	async #use(): Promise<void> {
		const name = this.#pipeline.spec.table.name!;
		if (!(await this.#table.read(name))) return;
		const table = this.#table.nameOf(name);
		const done = await this.#table.hands!.use(table, this.#random);
		this.told.push(`somebody ${done} beside ${table}`);
	}

	async #drop(): Promise<void> {
		const name = this.#pipeline.spec.table.name!;
		if (await this.#table.read(name)) await this.#table.drop(name);
		this.#model.dropped(name);
	}

	async #edit(): Promise<void> {
		const { spec } = this.#pipeline;
		const { table } = spec;
		const daysAgo = () =>
			addDays(this.#lake.today, -Math.floor(this.#random() * 35));
		this.#one<() => void>([
			[
				2,
				() => {
					spec.overwritePeriodDays = Math.floor(this.#random() * 4);
				},
			],
			[
				1,
				() => {
					const start = daysAgo();
					if (start < (spec.dateRange.start ?? "")) this.#model.isGrown = true;
					spec.dateRange = { start, end: "Today" };
				},
			],
			[
				1,
				() => {
					spec.dateRange = { end: this.#random() < 0.5 ? daysAgo() : "Today" };
					this.#model.isGrown = true;
				},
			],
			[
				2,
				() => {
					const { name } = spec.sourceRef;
					spec.sourceRef = { name: name === "orders" ? "refunds" : "orders" };
				},
			],
			[
				1,
				() => {
					table.onIncompatible =
						table.onIncompatible === "Fail" ? "Rebuild" : "Fail";
				},
			],
			[
				1,
				() => {
					const pointer = { name: "n", bodyPointer: "/n" } as const;
					if (table.bodyColumns) delete table.bodyColumns;
					else table.bodyColumns = [{ ...pointer, type: "Integer" }];
				},
			],
			[
				1,
				() => {
					if (table.quarantine) delete table.quarantine;
					else table.quarantine = true;
				},
			],
			[
				0.5,
				() => {
					table.columns = table.columns.includes("Date")
						? columns.slice(0, 3)
						: [...columns];
				},
			],
			[
				0.5,
				() => {
					table.name = table.name === "orders" ? "others" : "orders";
				},
			],
		])();
		const { sourceRef, dateRange, overwritePeriodDays } = spec;
		this.told.push(
			`the spec is ${JSON.stringify({ sourceRef, dateRange, overwritePeriodDays, table })}`,
		);
	}

	async #run(asked: AskedRun) {
		const name = this.#pipeline.spec.table.name!;
		const before = await this.#table.read(name);
		const { strike, ...words } = asked;
		const struck = strike
			? `, ${strike.isKill ? "killed" : "struck"}${strike.isRepeated ? " and repeated" : ""}`
			: "";
		this.told.push(`a Run ${JSON.stringify(words)}${struck}`);
		const { hands } = this.#table;
		const table = this.#table.nameOf(name);
		const notes = (await hands?.notes(table)) ?? [];
		const run = () => this.#pipeline.run(asked);
		const isRead = hands && before && this.#random() < 0.3;
		if (isRead) this.told.push("  while somebody reads the table");
		const end = await (isRead ? hands.whileRead(table, run) : run());
		this.told.push(
			`  ${end.phase} ${end.code ?? ""} ${end.manifest ? `${end.manifest.asked.extent} ${end.manifest.dates.at(0)?.date} to ${end.manifest.dates.at(-1)?.date}` : ""} ${end.result?.repairedDates ? `repaired ${end.result.repairedDates}` : ""}`,
		);
		const after = await this.#table.read(name);
		this.#model.check(asked, end, before, after);
		this.#model.checkNotes(notes, await hands?.notes(table), before, after);
		this.#model.checkQuarantine(
			end,
			await this.#table.read(quarantineTableOf(name)),
		);
		return end;
	}

	#strike(): Pick<AskedRun, "strike"> {
		const requests = Math.floor(this.#random() ** 2 * 40);
		const isRepeated = this.#random() < 0.5;
		return { strike: { ...this.#table.strike(requests), isRepeated } };
	}

	/** Downloads are first, so a later moment is more likely in the midst of writing. */
	#kill(): Pick<AskedRun, "strike"> {
		const requests = Math.floor(this.#random() ** 2 * 40);
		const afterMs = Math.floor(this.#random() * 200);
		const isRepeated = this.#random() < 0.5;
		return { strike: { ...this.#table.kill(requests, afterMs), isRepeated } };
	}

	#someDates() {
		const start = addDays(this.#lake.today, -Math.floor(this.#random() * 28));
		return { start, end: addDays(start, Math.floor(this.#random() * 3)) };
	}

	#newEvents(name: string, timeMs: () => number) {
		return Array.from({ length: 1 + Math.floor(this.#random() * 3) }, () => {
			const number = ++this.#events;
			return {
				event_id: `${name}-${number}`,
				timestampMs: timeMs(),
				body: `{"n":${number}}`,
			};
		});
	}

	/** One of the choices, each as likely as its weight. */
	#one<T>(choices: [weight: number, T][]): T {
		const sum = choices.reduce((all, [weight]) => all + weight, 0);
		let left = this.#random() * sum;
		for (const [weight, choice] of choices) {
			left -= weight;
			if (left < 0) return choice;
		}
		return choices.at(-1)![1];
	}
}
