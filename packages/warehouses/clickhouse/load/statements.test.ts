import { expect, test } from "vitest";
import type { TableColumn } from "../../../contracts/job.ts";
import {
	columnTTLsOf,
	deletionsOf,
	newStagingName,
	quoteName,
	quoteText,
	Statements,
	stagingPrefixOf,
	ttlOf,
} from "./statements.ts";

const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{
		name: "total",
		from: { bodyPointer: "/total", type: "Decimal", precision: 18, scale: 2 },
	},
	{ name: "date", from: "Date" },
];

/** Nobody has seen these on a server: no registry has one with replicas. */
const replicated = new Statements({
	database: "shop",
	cluster: "{cluster}",
	engine: "ReplicatedMergeTree",
});
const plain = new Statements({ database: "shop", engine: "MergeTree" });

test("tables of a cluster are made, changed, exchanged and dropped on all its servers", () => {
	const made = replicated.create("orders", {
		columns,
		orderBy: ["date", "event_id"],
		comment: "it's",
		comments: [{ name: "event_id", comment: "The event's" }],
	});
	expect(made).toBe(
		"CREATE TABLE `shop`.`orders` ON CLUSTER '{cluster}' (`event_id` String COMMENT 'The event\\'s', `total` Nullable(Decimal(18, 2)), `date` Date)\n" +
			"ENGINE = ReplicatedMergeTree\nPARTITION BY `date`\nORDER BY tuple(`date`, `event_id`)\nCOMMENT 'it\\'s'",
	);
	expect(replicated.createLike("a", "b")).toBe(
		"CREATE TABLE `shop`.`a` ON CLUSTER '{cluster}' AS `shop`.`b`",
	);
	expect(replicated.addColumns("a", columns.slice(2))).toBe(
		"ALTER TABLE `shop`.`a` ON CLUSTER '{cluster}' ADD COLUMN IF NOT EXISTS `date` Date",
	);
	expect(replicated.comment("a", "x")).toBe(
		"ALTER TABLE `shop`.`a` ON CLUSTER '{cluster}' MODIFY COMMENT 'x'",
	);
	expect(replicated.exchange(["a", "b"])).toBe(
		"EXCHANGE TABLES `shop`.`a` AND `shop`.`b` ON CLUSTER '{cluster}'",
	);
	expect(replicated.rename("a", "b")).toBe(
		"RENAME TABLE `shop`.`a` TO `shop`.`b` ON CLUSTER '{cluster}'",
	);
	const view = { name: "a_latest", select: "SELECT 1", comment: "it's" };
	expect(replicated.writeView(view, { isThere: false })).toBe(
		"CREATE VIEW `shop`.`a_latest` ON CLUSTER '{cluster}' AS SELECT 1 COMMENT 'it\\'s'",
	);
	expect(
		replicated.writeView(view, { isThere: true, columns: columns.slice(2) }),
	).toBe(
		"CREATE OR REPLACE VIEW `shop`.`a_latest` ON CLUSTER '{cluster}' (`date` Date) AS SELECT 1 COMMENT 'it\\'s'",
	);
	expect(replicated.exchange(["a", "b"], ["a_latest", "c"])).toBe(
		"EXCHANGE TABLES `shop`.`a` AND `shop`.`b`, `shop`.`a_latest` AND `shop`.`c` ON CLUSTER '{cluster}'",
	);
	expect(replicated.dropView("a_latest")).toBe(
		"DROP VIEW IF EXISTS `shop`.`a_latest` ON CLUSTER '{cluster}' SYNC",
	);
	expect(replicated.drop("a")).toBe(
		"DROP TABLE IF EXISTS `shop`.`a` ON CLUSTER '{cluster}' SYNC",
	);
});

test("a partition moves on one server, whose replicas follow, once it has every row", () => {
	expect(replicated.sync("a")).toBe("SYSTEM SYNC REPLICA `shop`.`a`");
	expect(replicated.replaceDay("2026-03-01", "a", "b")).toBe(
		"ALTER TABLE `shop`.`a` REPLACE PARTITION '2026-03-01' FROM `shop`.`b`",
	);
	expect(plain.sync("a")).toBeUndefined();
});

test.each([
	[["total"], "ORDER BY `total`\nSETTINGS allow_nullable_key = 1"],
	[[], "ORDER BY tuple()"],
	[["event_id"], "ORDER BY `event_id`\n"],
])("the key %j is written as the server gives it back", (orderBy, text) => {
	expect(plain.create("orders", { columns, orderBy, comment: "" })).toContain(
		text,
	);
});

test("names and texts are quoted, whatever is in them", () => {
	expect(quoteName("a`b\\")).toBe("`a\\`b\\\\`");
	expect(quoteText("it's \\n")).toBe("'it\\'s \\\\n'");
});

test("a staging table is one attempt's own, and found by its table's name", () => {
	const [one, two] = [newStagingName("orders"), newStagingName("orders")];
	expect(one).not.toBe(two);
	expect(one.startsWith(stagingPrefixOf("orders"))).toBe(true);
	expect(one.startsWith(stagingPrefixOf("orders2"))).toBe(false);
});

test.each([
	["MergeTree PARTITION BY date ORDER BY (date, timestamp)", undefined, []],
	[
		"MergeTree ORDER BY x TTL date + toIntervalDay(30) SETTINGS index_granularity = 8192",
		"date + toIntervalDay(30)",
		["date + toIntervalDay(30)"],
	],
	[
		"MergeTree ORDER BY ` TTL ` TTL date + toIntervalDay(30), toDateTime(t) + toIntervalDay(9) WHERE x = ' SETTINGS , ', t + f(1, 2) TO VOLUME 'cold' SETTINGS a = 1, b = 'x'",
		"date + toIntervalDay(30), toDateTime(t) + toIntervalDay(9) WHERE x = ' SETTINGS , ', t + f(1, 2) TO VOLUME 'cold'",
		["date + toIntervalDay(30)", "toDateTime(t) + toIntervalDay(9)"],
	],
] as [string, string | undefined, string[]][])(
	"of %s the TTL is %s",
	(engine, ttl, deletions) => {
		expect(ttlOf(engine)).toBe(ttl);
		expect(ttl === undefined ? [] : deletionsOf(ttl)).toEqual(deletions);
	},
);

test("the TTLs of columns are found in the statement that would create their table", () => {
	expect(
		columnTTLsOf(
			"CREATE TABLE shop.orders (`event_id` String COMMENT ' TTL a, (', `body` String CODEC(ZSTD(6)) TTL toDateTime(timestamp) + toIntervalDay(1), `n` Int8 TTL date + INTERVAL 1 DAY SETTINGS (a = 1), INDEX i n TYPE minmax) ENGINE = MergeTree ORDER BY `event_id` TTL date + toIntervalDay(9)",
		),
	).toEqual([
		"toDateTime(timestamp) + toIntervalDay(1)",
		"date + INTERVAL 1 DAY",
	]);
});
