import { controls as ofChaos } from "../faults/chaos/controls.ts";
import type { Control } from "./edit.ts";

/**
 * What `make test` must see: each control breaks one promise of the README or of docs/reference in one place, and a file of
 * `make test` turns red. `make controls` tries them. Those of chaos stand beside its seeds, which find them, too.
 */
export const controls: Control[] = [
	{
		name: "a day is replaced without its last object",
		file: "ingest/load/load-days.ts",
		find: "	const objects = withFiles(prefix, addition?.objects ?? all);\n",
		replace:
			"	const objects = withFiles(prefix, addition?.objects ?? all.slice(0, all.length > 1 ? -1 : 1));\n",
		seenBy: {
			file: "ingest/load/load-days.test.ts",
			test: "with a file for each object",
		},
	},
	{
		name: "a load drops a table that isn't the Pipeline's",
		file: "packages/warehouses/load/table-mark.ts",
		find: '	if (owner === "Other" && !input.adopt && !isUnused)\n',
		replace:
			'	if (owner === "Other" && !input.adopt && !isUnused && !input.rebuild)\n',
		seenBy: { file: "packages/warehouses/load/table-owner.test.ts" },
	},
	{
		name: "a form is stored as text",
		file: "ingest/receive/body/request-body.ts",
		find: '	return "status" in text ? text : { kind, parts: text };\n',
		replace:
			'	return "status" in text ? text : { kind, parts: [Buffer.from(JSON.stringify(whole.toString()))] };\n',
		seenBy: {
			file: "ingest/receive/webhook-request.test.ts",
			test: "a form is stored as a JSON object",
		},
	},
	{
		name: "an account's list has another account's buffered events",
		file: "ingest/lake/events/row.ts",
		find: "			if (event.account !== account || !wanted.has(sourceKey)) continue;\n",
		replace: "			if (!wanted.has(sourceKey)) continue;\n",
		seenBy: {
			file: "ingest/lake/events/listing.test.ts",
			test: "a list has the source's events",
		},
	},
	{
		name: "a Source's list has another Source's buffered events",
		file: "ingest/lake/events/row.ts",
		find: "			if (event.account !== account || !wanted.has(sourceKey)) continue;\n",
		replace: "			if (event.account !== account) continue;\n",
		seenBy: {
			file: "ingest/lake/events/listing.test.ts",
			test: "a list has the source's events",
		},
	},
	{
		name: "a service account's token reaches the account that it names",
		file: "api/caller/account.ts",
		find: "		if (header !== undefined && header !== own)\n",
		replace:
			"		if (header !== undefined && header !== own) return header;\n		if (header !== undefined && header !== own)\n",
		seenBy: { file: "api/caller/account.test.ts" },
	},
	{
		name: "a process that has lost its Lease goes on leading",
		file: "packages/kube/reconcile/lease.ts",
		find: "			if (!this.#isCurrent() || !this.#isOurs()) {\n",
		replace: "			if (this.#renewedMs < 0) {\n",
		seenBy: {
			file: "packages/kube/reconcile/lease.test.ts",
			test: "must stop",
		},
	},
	{
		name: "a process that was paused beyond its Lease goes on writing",
		file: "packages/kube/reconcile/lease.ts",
		find: "		if (this.#leads && this.#isCurrent()) return;\n",
		replace: "		if (this.#leads) return;\n",
		seenBy: {
			file: "packages/kube/reconcile/lease.test.ts",
			test: "may write nothing",
		},
	},
	{
		name: "a Lease is taken before it has run out",
		file: "packages/kube/reconcile/lease-decision.ts",
		find: "	return nowMs - sighting.sinceMs > leaseDurationSeconds * 1000\n",
		replace: "	return nowMs - sighting.sinceMs > leaseDurationSeconds * 100\n",
		seenBy: { file: "packages/kube/reconcile/lease-decision.test.ts" },
	},
	{
		name: "a token that is to run Pipelines may edit",
		file: "api/resources/token.ts",
		find: '	run: "tidemill-runner",\n',
		replace: '	run: "tidemill-editor",\n',
		seenBy: { file: "api/resources/tokens.test.ts" },
	},
	{
		name: "receive stores a repeat that it has answered",
		file: "ingest/receive/webhook-request.ts",
		find: '		else if ("repeatOf" in claim) {\n',
		replace:
			'		else if ("repeatOf" in claim) {\n			this.#commit(event);\n			return;\n',
		seenBy: {
			file: "ingest/receive/webhook-request.test.ts",
			test: "a repeat of a sender's key",
		},
	},
	{
		name: "archive keeps the second copy of an event with a sender's key",
		file: "ingest/archive/write/idempotency-settlement.ts",
		find: '			if (after === "drop") dropped.push(copy.place);\n',
		replace: '			if (after === "drop") continue;\n',
		seenBy: { file: "ingest/archive/write/idempotency-settlement.test.ts" },
	},
	{
		name: "receive forgets that the plan quarantines an event",
		file: "ingest/receive/webhook-request.ts",
		find: "		...planned,\n",
		replace: '		violations: planned?.violations ?? "",\n',
		seenBy: {
			file: "ingest/receive/webhook-request.test.ts",
			test: "an event that its plan quarantines",
		},
	},
	{
		name: "events in quarantine are in the objects that Runs load",
		file: "ingest/archive/decide/cut.ts",
		find: "		first.quarantined === quarantined\n",
		replace: "		(first.quarantined === quarantined || day > 0)\n",
		seenBy: { file: "ingest/archive/decide/cut.test.ts" },
	},
	{
		name: "a body that grows beyond what its Source allows is stored",
		file: "ingest/receive/webhook-request.ts",
		find: `		if (admission.bytes > maxBodyBytes)
			this.#refuse(bodyTooLarge(maxBodyBytes));
`,
		replace: "",
		seenBy: {
			file: "ingest/receive/webhook-request.test.ts",
			test: "is 413",
		},
	},
	{
		name: "a suspended Source stores what is signed",
		file: "ingest/receive/body/request-body.ts",
		find: "	return route.suspended ? refusals.SourceSuspended : undefined;\n",
		replace: "	return route ? undefined : refusals.SourceSuspended;\n",
		seenBy: {
			file: "ingest/receive/webhook-request.test.ts",
			test: "a suspended Source",
		},
	},
	{
		name: "an event that the tracking plan rejects is stored",
		file: "ingest/receive/webhook-request.ts",
		find: `			if ("status" in outcome) this.#refuse(outcome);
			else this.#makeEvent(body, outcome);
`,
		replace: `			this.#makeEvent(body, "status" in outcome ? undefined : outcome);
`,
		seenBy: {
			file: "ingest/receive/webhook-request.test.ts",
			test: "an event that its plan rejects",
		},
	},
	{
		name: "an Erase leaves what the plan said of an event",
		file: "ingest/lake/erasure/source-erasure.ts",
		find: '					["violations", "NULL"],\n',
		replace: "",
		seenBy: { file: "ingest/lake/erasure/source-erasure.test.ts" },
	},
	{
		name: "an Erase leaves the captured headers of an event",
		file: "ingest/lake/erasure/source-erasure.ts",
		find: '					["headers", quoteText(markOf(operation))],\n',
		replace: '					["headers", "headers"],\n',
		seenBy: { file: "ingest/lake/erasure/source-erasure.test.ts" },
	},
	{
		name: "retention deletes a day early",
		file: "ingest/lake/retention/retention.ts",
		find: "const graceDays = 1;\n",
		replace: "const graceDays = 0;\n",
		seenBy: { file: "ingest/lake/retention/retention.test.ts" },
	},
	{
		name: "a scheduled time that was missed runs twice",
		file: "operator/pipeline/timing.ts",
		find: "	const lastMs = wasAhead ? undefined : recorded;\n",
		replace: "	const lastMs = recorded ? undefined : recorded;\n",
		seenBy: { file: "operator/pipeline/timing.test.ts" },
	},
	{
		name: "a fixed hour runs in its second occurrence when the clocks go back",
		file: "crds/schedule.ts",
		find: '			const first = nextOf("first", afterMs, wallMs);\n',
		replace: '			const first = nextOf("last", afterMs, wallMs);\n',
		seenBy: { file: "crds/schedule.test.ts" },
	},
	{
		name: "a change of an earlier version is made, whatever If-Match says",
		file: "api/resources/resource-update.ts",
		find: "			requireMatch(ifMatch, before);\n",
		replace: "",
		seenBy: { file: "api/requests.test.ts", test: "is 412" },
	},
	{
		name: "the API starts a Run of a Pipeline that isn't ready",
		file: "api/runs/runs.ts",
		find: "	if (found && !waits) requireReady(found);\n",
		replace: "	if (found && !waits && !found) requireReady(found);\n",
		seenBy: { file: "api/requests.test.ts", test: "a Pipeline that can't run" },
	},
	{
		name: "no answer says how many requests are left",
		file: "api/server.ts",
		find: "		reply.headers(rateHeaders(rate));\n",
		replace: "		if (rate.isExceeded) reply.headers(rateHeaders(rate));\n",
		seenBy: {
			file: "api/requests.test.ts",
			test: "how many requests are left",
		},
	},
	{
		name: "the API repeats a request with the same Idempotency-Key",
		file: "api/http/idempotency-key.ts",
		find: "	if (known.made !== undefined) return perform({ digest, created: known.made });\n",
		replace: "",
		seenBy: { file: "api/http/idempotency-key.test.ts" },
	},
	{
		name: "the API shows the key by which a Source's events are stored",
		file: "api/resources/views.ts",
		find: '	...["shard", "sourceKey", "layout"],\n',
		replace: '	...["shard", "layout"],\n',
		seenBy: { file: "api/resources/views.test.ts" },
	},
	{
		name: "NATS can't tell a notification that is handed over again",
		file: "operator/notification/outbox.ts",
		find: "			msgID: ",
		replace: "			msgID: Math.random() + ",
		seenBy: {
			file: "operator/notification/outbox.test.ts",
			test: "handed over again",
		},
	},
	{
		name: "a Source that is deleted takes events with it that it should leave",
		file: "operator/source/deletion/decide.ts",
		find: '	if (source.spec.deletionPolicy !== "Delete") return [letGo(source)];\n',
		replace: "",
		seenBy: { file: "operator/source/deletion/decide.test.ts" },
	},
	{
		name: "events are deleted while a Run loads them",
		file: "operator/source/deletion/decide.ts",
		find: "	const [run] = state.runs;\n",
		replace: "	const [run] = state.runs.slice(1);\n",
		seenBy: { file: "operator/source/deletion/decide.test.ts" },
	},
	{
		name: "a Source that is applied again gets another URL",
		file: "operator/source/decide.ts",
		find: '	if (rotation && state.keys !== "invalid" && rotation !== state.keys.rotation)\n',
		replace: '	if (rotation && state.keys !== "invalid")\n',
		seenBy: { file: "operator/source/decide-keys.test.ts" },
	},
	{
		name: "a page of events begins with the last one of the page before",
		file: "ingest/lake/events/row.ts",
		find: "		(before === undefined || isBefore(place, before)) &&\n",
		replace:
			"		(before === undefined || isBefore(place, before) || place.eventID === before.eventID) &&\n",
		seenBy: {
			file: "ingest/lake/events/object-reader.test.ts",
			test: "and the next ones after them",
		},
	},
	{
		name: "receive's user of NATS may write routes",
		file: "operator/install/nats-users.ts",
		find: "				sns.certificate,\n",
		replace: "				sns.certificate,\n				...write(bucket.routes),\n",
		seenBy: { file: "operator/install/nats-users.test.ts" },
	},
	{
		name: "NATS acknowledges what isn't on its disk",
		file: "operator/install/nats-config.ts",
		find: '			sync_interval: "always",\n',
		replace: "",
		seenBy: { file: "local/servers/servers.test.ts" },
	},
	{
		name: "a load into DuckDB is no transaction",
		file: "packages/warehouses/duckdb/load/transaction.ts",
		find: "		await this.#session.transaction(async () => {\n			result = await work();\n		});\n",
		replace: "		result = await work();\n",
		seenBy: { file: "packages/warehouses/duckdb/load/transaction.test.ts" },
	},
	{
		name: "a load into DuckDB removes the days that it doesn't load",
		file: "packages/warehouses/duckdb/load/staged-table.ts",
		find: '		case "DeleteDay":\n',
		replace: '		case "DeleteDay":\n			return ["DELETE FROM " + name];\n',
		seenBy: {
			file: "test/data-plane/warehouses/duckdb.laptop.test.ts",
			test: "an empty one becomes empty, and others stay",
		},
	},
	{
		name: "a Run ends before its load has begun",
		file: "ingest/load/load.ts",
		find: "		const rows = await loadInto(input.table, ready.days, files);\n",
		replace:
			"		const rows = ready.days.length < 0 ? await loadInto(input.table, ready.days, files) : undefined;\n",
		seenBy: {
			file: "test/data-plane/load.laptop.test.ts",
			test: "the first load creates a typed table",
		},
	},
	{
		name: "a Run loads what archive has, and not what was acknowledged before",
		file: "ingest/lake/request/shares.ts",
		find: "			await flushOwn(end);\n",
		replace: "			void flushOwn;\n",
		seenBy: {
			file: "ingest/lake/request/shares.test.ts",
			test: "each shard that may hold its events",
		},
	},
	{
		name: "a viewer sees the bodies of events",
		file: "charts/tidemill/files/rbac/roles.yaml",
		find: "    resources: [sources/events]\n",
		replace: "    resources: [sources/events, sources/bodies]\n",
		seenBy: { file: "test/roles.test.ts", test: "permits this" },
	},
	{
		name: "the API shows a body to whoever may list events",
		file: "api/events/event.ts",
		find: "requireSource(request, name, withBody)",
		replace: "requireSource(request, name)",
		seenBy: { file: "api/requests.test.ts", test: "bodies of events" },
	},
	{
		name: "an object may be written over by a repeated PUT",
		file: "packages/bucket/s3-object-store.ts",
		find: '			IfNoneMatch: "*",\n',
		replace: "",
		seenBy: { file: "packages/bucket/quick-put.test.ts" },
	},
	{
		name: "archive decides a cut with the repeats that it has found",
		file: "ingest/archive/session.ts",
		find: "			return await withoutRepeats(this.#keys, all, read);\n",
		replace:
			"			return (await withoutRepeats(this.#keys, all, read)) && all;\n",
		seenBy: {
			file: "test/faults/data-plane/archive-crashes.laptop.test.ts",
			test: "two frames have under a sender's key",
		},
	},
	{
		name: "a CRD accepts what a rule forbids",
		file: "charts/tidemill/files/crds/sources.yaml",
		find: "rule: (self.type == 'CustomToken') == has(self.customToken)\n",
		replace: "rule: has(self.type) || has(self.customToken)\n",
		seenBy: { file: "test/control-plane/crds.laptop.test.ts" },
	},
	{
		name: "the API remembers for long that a token was valid",
		file: "api/caller/authenticator.ts",
		find: "ttlMs = 60_000,",
		replace: "ttlMs = 3_600_000,",
		seenBy: { file: "api/caller/authenticator.test.ts" },
	},
	{
		name: "a tail shows another account's events",
		file: "ingest/lake/tail/lease.ts",
		find: "			if (one.event.account !== account || one.index < first) continue;\n",
		replace:
			"			if (account === undefined || one.index < first) continue;\n",
		seenBy: { file: "ingest/lake/tail/lease.test.ts" },
	},
	{
		name: "the API deletes what others use",
		file: "api/resources/usage.ts",
		find: "		if (names.length === 0) continue;\n",
		replace: "		if (names.length < 2) continue;\n",
		seenBy: { file: "api/requests.test.ts", test: "deleted only by force" },
	},
	{
		name: "archive stores events of a Source that is deleted",
		file: "ingest/archive/write/cut-writer.ts",
		find: "			if (this.#tombstones.has(group)) return;\n",
		replace: "",
		seenBy: {
			file: "ingest/archive/write/cut-writer.test.ts",
			test: "a Source that is deleted",
		},
	},
	{
		name: "a compaction doesn't compare what it made with what it replaces",
		file: "ingest/lake/compaction/date-compaction.ts",
		find: "		if (found.rows !== rows || found.ids !== rows || found.hashes !== hashes)\n",
		replace: "		if (rows < 0)\n",
		seenBy: {
			file: "ingest/lake/compaction/date-compaction.test.ts",
			test: "takes the place of none",
		},
	},
	{
		name: "a load doesn't count the rows that it leaves",
		file: "packages/warehouses/duckdb/load/transaction.ts",
		find: "	if (rows !== step.rows)\n",
		replace: "	if (step.rows < 0)\n",
		seenBy: {
			file: "packages/warehouses/duckdb/load/transaction.test.ts",
			test: "another number of rows",
		},
	},
	...ofChaos,
];
