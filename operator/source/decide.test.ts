import { expect, test } from "vitest";
import type {
	Source,
	SourceStatus,
	SourceWebhook,
} from "../../crds/generated/types.ts";
import { finalizer, label } from "../../crds/labels.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import {
	keys,
	now,
	readyIn,
	routeOfSource,
	sourceWith,
	stateWith,
	statusIn,
	url,
} from "../../test/support/fixtures/control-plane/source-state.ts";
import { decide } from "./decide.ts";
import { authorize } from "./routes/authorization.ts";
import { routeOf } from "./routes/decide.ts";
import type { SourceState } from "./state.ts";

const customToken: SourceWebhook["authorization"] = {
	type: "CustomToken",
	customToken: { secretRef: { name: "token", key: "value" } },
};

function withAuthorization(
	authorization: SourceWebhook["authorization"],
): Source {
	return sourceWith({ webhook: { authorization, maxBodyBytes: 1024 } });
}

function tokenSecret(
	value: string,
	labels: Record<string, string> = { [label.use]: "true" },
): Secret {
	return {
		metadata: { name: "token", namespace: "shop", labels },
		data: { value: Buffer.from(value).toString("base64") },
	};
}

function secretsOf(secret: Secret): SourceState["secrets"] {
	return new Map([[secret.metadata.name!, secret]]);
}

test.each([
	[5, "Unknown", "Pending", "Normal", 25_000],
	[31, "False", "Error", "Warning", undefined],
])(
	"a Secret that is missing %d s after the Source was created makes Ready %s",
	(age, ...expected) => {
		const source = withAuthorization(customToken);
		const createdMs = now - age * 1000;
		source.metadata.creationTimestamp = new Date(createdMs).toISOString();
		const actions = decide(stateWith({ source }), now);
		const event = actions.find(({ type }) => type === "recordKubeEvent");
		const again = actions.find(({ type }) => type === "requeueAfter");
		expect([
			readyIn(actions)?.status,
			statusIn(actions)?.phase,
			event?.type === "recordKubeEvent" && event.severity,
			again?.type === "requeueAfter" ? again.afterMs : undefined,
		]).toEqual(expected);
	},
);

test("a published Source is Active with its URL", () => {
	const actions = decide(stateWith(), now);
	expect(statusIn(actions)).toEqual({
		observedGeneration: 3,
		phase: "Active",
		webhookURL: url,
		sourceKey: keys.sourceKey,
		shard: 0,
		conditions: [
			{
				type: "Ready",
				status: "True",
				reason: "Active",
				message: "The URL in status.webhookURL accepts events.",
				observedGeneration: 3,
				lastTransitionTime: "2026-03-01T12:00:00Z",
			},
		],
	});
	expect(actions).toContainEqual(
		expect.objectContaining({ type: "recordKubeEvent", severity: "Normal" }),
	);
});

test.each([
	["{timestamp}{body}", ""],
	["{timestamp}{bodyDigest:sha256}", ""],
	[
		"{bodyDigest:crc32}",
		" A signature is weak proof that the body is the provider's, because signedString has only its CRC-32: who sees a request can make another body with the same one and send it for ever.",
	],
	[
		"{timestamp}{bodyPointer:/token}",
		" A signature doesn't prove that the body is the provider's, because bodyUnsigned is true: who sees a request can send its signature with another body for 300 s.",
	],
	[
		"{bodyPointer:/token}",
		" A signature doesn't prove that the body is the provider's, because bodyUnsigned is true: who sees a request can send its signature with another body for ever.",
	],
])("Ready says what a signature of %j doesn't prove", (signedString, rest) => {
	const bodyUnsigned =
		!signedString.includes("{body}") && !signedString.includes("{bodyDigest");
	const source = withAuthorization({
		type: "Signature",
		signature: {
			scheme: "Custom",
			toleranceSeconds: 300,
			secretRefs: [{ name: "token", key: "value" }],
			custom: {
				header: "x-signature",
				algorithm: "SHA256",
				encoding: "Hex",
				signedString,
				...(bodyUnsigned && { bodyUnsigned }),
				...(signedString.includes("{timestamp}") && {
					timestampHeader: "x-time",
				}),
			},
		},
	});
	const state = stateWith({ source, sealKey });
	state.secrets = secretsOf(tokenSecret("hush"));
	const { authorization } = authorize(source, {
		secretOf: (name) => state.secrets.get(name),
		sealKey,
		receiveURL: state.receiveURL,
		sourceKey: keys.sourceKey,
	});
	state.published = routeOf(source, keys, authorization);
	const { conditions } = statusIn(decide(state, now))!;
	expect(conditions![0]).toMatchObject({
		type: "Ready",
		status: "True",
		message: `The URL in status.webhookURL accepts events.${rest}`,
	});
});

test("Ready says what is odd about a signing secret, and never its value", () => {
	const source = withAuthorization({
		type: "Signature",
		signature: {
			scheme: "Stripe",
			toleranceSeconds: 300,
			secretRefs: [{ name: "token", key: "value" }],
		},
	});
	const state = stateWith({ source, sealKey });
	state.secrets = secretsOf(tokenSecret("hush"));
	const { authorization } = authorize(source, {
		secretOf: (name) => state.secrets.get(name),
		sealKey,
		receiveURL: state.receiveURL,
		sourceKey: keys.sourceKey,
	});
	state.published = routeOf(source, keys, authorization);
	const { conditions } = statusIn(decide(state, now))!;
	expect(conditions![0]).toMatchObject({
		type: "Ready",
		status: "True",
		message:
			'The URL in status.webhookURL accepts events. Key "value" of Secret "token" doesn\'t look like the endpoint\'s signing secret, "whsec_…". If senders get 401, copy it again from the sender\'s settings.',
	});
});

/** Kubernetes drops a field that is undefined. */
function asStored(status: SourceStatus | undefined): SourceStatus {
	return JSON.parse(JSON.stringify(status));
}

test("an unchanged status is not written again", () => {
	const status = asStored(statusIn(decide(stateWith(), now)));
	const source = { ...sourceWith(), status };
	expect(decide(stateWith({ source }), now + 60_000)).toEqual([]);
});

/** Its Secret is missing. It is this many seconds old. */
function young(age: number, status?: SourceStatus): Source {
	const source = withAuthorization(customToken);
	const creationTimestamp = new Date(now - age * 1000).toISOString();
	const metadata = { ...source.metadata, creationTimestamp };
	return { ...source, metadata, ...(status && { status }) };
}

test("a Secret that stays missing is warned of once, when its grace is over", () => {
	const status = asStored(
		statusIn(decide(stateWith({ source: young(5) }), now)),
	);
	expect(decide(stateWith({ source: young(10, status) }), now)).toEqual([
		{ type: "requeueAfter", afterMs: 20_000 },
	]);
	const late = decide(stateWith({ source: young(30, status) }), now);
	expect(late).toMatchObject([
		{ type: "writeStatus" },
		{
			type: "recordKubeEvent",
			severity: "Warning",
			reason: "SecretNotFound",
		},
	]);
	const told = young(60, asStored(statusIn(late)));
	expect(decide(stateWith({ source: told }), now)).toEqual([]);
});

test("a new Source with an error that no later object mends is in error at once", () => {
	const secrets = secretsOf(tokenSecret("short"));
	const state = stateWith({ source: young(5), secrets, sealKey });
	expect(decide(state, now)).toMatchObject([
		{
			type: "writeStatus",
			status: { conditions: [{ status: "False", reason: "TokenInvalid" }] },
		},
		{ type: "recordKubeEvent", severity: "Warning" },
	]);
});

test("a route that is being published changes nothing yet, and one that can't be published is reported", () => {
	expect(decide(stateWith({ published: undefined }), now)).toEqual([]);
	const publishError = "NATS does not answer";
	expect(
		readyIn(decide(stateWith({ published: undefined, publishError }), now)),
	).toMatchObject({
		status: "False",
		reason: "RouteNotPublished",
		message: expect.stringContaining(publishError),
	});
});

const sealKey = new SealKey(Buffer.alloc(32, 1));
const token = "sixteen-bytes-ok";

test("a token's digest ignores the line end that echo adds", () => {
	const source = withAuthorization(customToken);
	const published = routeOf(source, keys, {
		type: "CustomToken",
		digests: [sealKey.digest(token, keys.sourceKey)],
		sealKeyId: sealKey.id,
	});
	const actions = decide(
		stateWith({
			source,
			published,
			sealKey,
			secrets: secretsOf(tokenSecret(`${token}\n`)),
		}),
		now,
	);
	expect(statusIn(actions)?.phase).toBe("Active");
});

test.each<[string, Partial<SourceState>]>([
	["SecretNotFound", { sealKey, source: withAuthorization(customToken) }],
	[
		"SecretNotLabelled",
		{
			sealKey,
			source: withAuthorization(customToken),
			secrets: secretsOf(tokenSecret("x", {})),
		},
	],
	[
		"SecretKeyNotFound",
		{
			sealKey,
			source: withAuthorization(customToken),
			secrets: secretsOf({ ...tokenSecret("x"), data: {} }),
		},
	],
	[
		"TokenInvalid",
		{
			source: withAuthorization(customToken),
			sealKey,
			secrets: secretsOf(tokenSecret("\n")),
		},
	],
	[
		"TokenInvalid",
		{
			source: withAuthorization(customToken),
			sealKey,
			secrets: secretsOf(tokenSecret(`${token}\u0007`)),
		},
	],
	[
		"TokenInvalid",
		{
			source: withAuthorization(customToken),
			sealKey,
			secrets: secretsOf(tokenSecret(`${token.slice(1)}\n`)),
		},
	],
	[
		"SealKeyMissing",
		{
			source: withAuthorization(customToken),
			secrets: secretsOf(tokenSecret(token)),
		},
	],
	[
		"SealKeyMissing",
		{
			source: withAuthorization({
				type: "Signature",
				signature: {
					scheme: "GitHub",
					secretRefs: [{ name: "s", key: "k" }],
					toleranceSeconds: 300,
				},
			}),
		},
	],
	[
		"TrackingPlanUnavailable",
		{
			plan: { name: "plan" },
			published: {
				...routeOf(sourceWith(), keys, { type: "None" }),
				plan: { name: "plan" },
			},
		},
	],
	["KeyTaken", { keyOwner: "other", published: undefined }],
	[
		"KeyTaken",
		{
			published: routeOfSource("older"),
		},
	],
	["KeysSecretInvalid", { keys: "invalid" }],
])("%s is an error with a warning KubeEvent", (reason, part) => {
	const actions = decide(stateWith(part), now);
	expect(statusIn(actions)?.phase).toBe("Error");
	expect(readyIn(actions)).toMatchObject({ status: "False", reason });
	expect(actions).toContainEqual(
		expect.objectContaining({ type: "recordKubeEvent", severity: "Warning" }),
	);
});

test("a Source that names a plan says whether the plan validates its events", () => {
	const plan = { name: "plan", version: "v1" };
	const conditions = statusIn(
		decide(stateWith({ plan, published: undefined, publishError: "x" }), now),
	)?.conditions;
	expect(conditions).toContainEqual(
		expect.objectContaining({ type: "PlanCurrent", reason: "PlanNotFound" }),
	);
});

test("a Source that is suspended on purpose is Ready, so that nobody waits for it, and says so without a warning", () => {
	const source = sourceWith({ suspend: true });
	const actions = decide(stateWith({ source }), now);
	expect(statusIn(actions)?.phase).toBe("Suspended");
	expect(readyIn(actions)).toMatchObject({
		status: "True",
		reason: "Suspended",
	});
	expect(actions).not.toContainEqual(
		expect.objectContaining({ severity: "Warning" }),
	);
});

const others = {
	annotated: 2,
	quarantined: 0,
	lastEventTime: "2026-03-01T11:59:59Z",
};

test("the status follows the ledger at most once in ten seconds", () => {
	const status = statusIn(decide(stateWith(), now))!;
	const source = { ...sourceWith(), status };
	const deviation = { ...others, type: "a", kind: "TypeMismatch" as const };
	const ledger = {
		version: 1 as const,
		account: "shop",
		sourceKey: keys.sourceKey,
		firstEventDate: "2026-02-28",
		lastEventTime: "2026-03-01T11:59:59Z",
		archivedThrough: "2026-03-01T12:00:00Z",
		archived: { "2026-02-28": 2, "2026-03-01": 3 },
		quarantined: { "2026-03-01": 3 },
		deviations: { entries: [deviation], others },
	};
	const retention = {
		version: 1,
		days: 31,
		enforcedBy: "Lifecycle",
	} as const;
	const released = {
		version: 1 as const,
		account: "shop",
		sourceKey: keys.sourceKey,
		// The ledger has forgotten the first date, and its events are deleted.
		released: {
			"2026-01-01": { events: 9, releases: 1, imported: 8 },
			"2026-03-01": { events: 2, releases: 3, imported: 4 },
		},
	};
	const state = stateWith({
		source,
		ledger,
		released,
		retention,
		statusWrittenMs: now,
	});
	expect(decide(state, now + 4_000)).toEqual([
		{ type: "requeueAfter", afterMs: 6_000 },
	]);
	expect(statusIn(decide(state, now + 10_000))).toMatchObject({
		phase: "Active",
		firstEventDate: "2026-02-28",
		counts: {
			accepted: 8,
			archived: 7,
			quarantined: 1,
			released: 2,
			imported: 4,
		},
		deviations: [deviation],
		otherDeviations: others,
		retention: { days: 31, enforcedBy: "Lifecycle" },
	});
	// What the ledger has forgotten goes.
	const { deviations: _, ...forgotten } = ledger;
	expect(
		statusIn(
			decide(
				{
					...state,
					source: { ...source, status: statusIn(decide(state, now + 10_000))! },
					ledger: forgotten,
				},
				now + 20_000,
			),
		),
	).not.toHaveProperty("deviations");
	// A person's change shows at once.
	const suspended = { ...sourceWith({ suspend: true }), status };
	expect(
		statusIn(
			decide(
				stateWith({ source: suspended, ledger, statusWrittenMs: now }),
				now,
			),
		)?.phase,
	).toBe("Suspended");
});

test("imported events count though nobody has sent to the Source", () => {
	const source = sourceWith();
	const { sourceKey } = keys;
	const ofDate = { events: 0, imported: 3, releases: 1 };
	const released = { "2026-03-01": ofDate, "2026-03-02": ofDate };
	const state = stateWith({
		source,
		released: { version: 1, account: "shop", sourceKey, released },
	});
	expect(statusIn(decide(state, now))).toMatchObject({
		counts: { imported: 6 },
	});
});

test("imported events count as long as archive keeps their date, and it is looked at again when one passes", () => {
	const { sourceKey } = keys;
	const ofDate = { events: 0, imported: 3, releases: 1 };
	const state = stateWith({
		released: {
			version: 1,
			account: "shop",
			sourceKey,
			released: { "2025-06-01": ofDate, "2026-01-30": ofDate },
		},
	});
	const nextDay = { type: "requeueAfter", afterMs: 12 * 60 * 60 * 1000 };
	const importedOf = (kept: SourceState["kept"], at = now) =>
		statusIn(decide({ ...state, kept }, at))?.counts?.imported;
	const base = { version: 1, account: "shop", sourceKey } as const;
	expect(importedOf(undefined)).toBe(3);
	expect(importedOf(undefined, now + 12 * 60 * 60 * 1000)).toBe(0);
	expect(importedOf({ ...base, days: 400, from: "2025-01-01" })).toBe(6);
	expect(importedOf({ ...base, days: 0, from: "2025-07-01" })).toBe(3);
	expect(decide(state, now)).toContainEqual(nextDay);
});

test("the imported events of another account's source key don't count", () => {
	const { sourceKey } = keys;
	const ofDate = { events: 0, imported: 3, releases: 1 };
	const released = {
		version: 1 as const,
		account: "bank",
		sourceKey,
		released: { "2026-03-01": ofDate },
	};
	const state = stateWith({ released, keyOwner: "bank" });
	expect(statusIn(decide(state, now))).not.toHaveProperty("counts");
});

test("the status keeps its facts while the ledger can't be read", () => {
	const status: SourceStatus = {
		counts: { archived: 5 },
		deviations: [{ ...others, kind: "TypeMismatch" }],
		otherDeviations: others,
		firstEventDate: "2026-02-28",
		lastEventTime: "2026-03-01T11:59:59Z",
		archivedThrough: "2026-03-01T12:00:00Z",
		retention: { days: 31, enforcedBy: "Lifecycle" },
	};
	const source = { ...sourceWith(), status };
	expect(statusIn(decide(stateWith({ source }), now))).toMatchObject(status);
});

test("only deletionPolicy Delete sets a finalizer, and a deletion is left to its own controller", () => {
	expect(decide(stateWith(), now)).not.toContainEqual(
		expect.objectContaining({ type: "setFinalizers" }),
	);
	const source = sourceWith({ deletionPolicy: "Delete" });
	expect(decide(stateWith({ source }), now)).toContainEqual({
		type: "setFinalizers",
		finalizers: [finalizer],
	});
	source.metadata.deletionTimestamp = "2026-03-01T12:00:00Z";
	expect(decide(stateWith({ source }), now)).toEqual([]);
});

test.each([
	["Delete", ["other"], ["other", finalizer]],
	["Retain", ["other", finalizer], ["other"]],
] as const)(
	"with %s, a Source keeps the finalizers of others",
	(deletionPolicy, before, finalizers) => {
		const source = sourceWith({ deletionPolicy });
		source.metadata.finalizers = [...before];
		expect(decide(stateWith({ source }), now)[0]).toEqual({
			type: "setFinalizers",
			finalizers,
		});
	},
);

test("the same reason with another message is written without another KubeEvent", () => {
	const failing = (publishError: string, source = sourceWith()) =>
		decide(stateWith({ source, published: undefined, publishError }), now);
	const source = { ...sourceWith(), status: statusIn(failing("timeout"))! };
	expect(failing("closed", source).map(({ type }) => type)).toEqual([
		"writeStatus",
	]);
});

test("every Source of a shard whose buffer fills says so, until it has room again", () => {
	const filling = decide(stateWith({ isBufferFilling: true }), now);
	const status = statusIn(filling)!;
	expect(status.conditions).toMatchObject([
		{ type: "Ready", status: "True" },
		{
			type: "BufferFills",
			status: "True",
			reason: "ArchiveIsBehind",
			message: expect.stringContaining("The buffer of shard 0"),
		},
	]);
	const source = { ...sourceWith(), status: asStored(status) };
	expect(decide(stateWith({ source, isBufferFilling: true }), now)).toEqual([]);
	expect(statusIn(decide(stateWith({ source }), now))?.conditions).toEqual([
		expect.objectContaining({ type: "Ready" }),
	]);
});

test("a Source whose shard was taken away says which value brings it back", () => {
	const { published } = stateWith();
	const moved = { ...keys, shard: 3 };
	const state = (shards: number) =>
		stateWith({ keys: moved, published: { ...published!, shard: 3 }, shards });
	expect(readyIn(decide(state(2), now))).toMatchObject({
		status: "False",
		reason: "ShardMissing",
		message: expect.stringMatching(/shard 3.*only 2 shards.*to 4 or more/),
	});
	expect(readyIn(decide(state(4), now))).toMatchObject({ status: "True" });
	// Its senders get 403, whatever shards there are.
	const suspended = { ...state(2), source: sourceWith({ suspend: true }) };
	const route = { ...suspended.published!, suspended: true };
	expect(
		readyIn(decide({ ...suspended, published: route }, now)),
	).toMatchObject({
		reason: "Suspended",
	});
});

test("every Source of a shard whose events wait too long says so until they don't, and nothing changes while nobody knows", () => {
	const status = statusIn(decide(stateWith({ laggingShards: [0, 2] }), now));
	expect(status?.conditions).toEqual([
		expect.objectContaining({ type: "Ready", status: "True" }),
		expect.objectContaining({
			type: "ArchiveLags",
			status: "True",
			reason: "EventsWait",
			message: expect.stringContaining("Events of shards 0 and 2, which"),
		}),
	]);
	const source = { ...sourceWith(), status: asStored(status!) };
	expect(decide(stateWith({ source, laggingShards: undefined }), now)).toEqual(
		[],
	);
	expect(statusIn(decide(stateWith({ source }), now))?.conditions).toHaveLength(
		1,
	);
});

const alarmed = (shard: number, alarm?: string): SourceState["shardStates"] => [
	{ version: 1, shard, lostFrames: {}, stopped: alarm ? { alarm } : {} },
];
const readyOf = (state: Partial<SourceState>) =>
	readyIn(decide(stateWith(state), now));

test.each<[string, string, Partial<SourceState>]>([
	["a full buffer", "BufferFull", { isBufferFull: true }],
	[
		"a shard in alarm",
		"ArchiveStopped",
		{ shardStates: alarmed(0, "CutMismatch") },
	],
	[
		"both",
		"BufferFull",
		{ isBufferFull: true, shardStates: alarmed(0, "CutMismatch") },
	],
])(
	"%s makes its Sources Ready=False, with what it stops",
	(_, reason, part) => {
		expect(readyOf(part)).toMatchObject({ status: "False", reason });
		const { message = "" } = readyOf(part) ?? {};
		expect(message.includes("CutMismatch")).toBe("shardStates" in part);
		const source = {
			...sourceWith(),
			status: asStored(statusIn(decide(stateWith(part), now))!),
		};
		expect(
			readyOf({
				source,
				shardStates: [{ version: 1, shard: 0, lostFrames: {} }],
			}),
		).toMatchObject({ status: "True", reason: "Active" });
	},
);

test("a new leader leaves a Source stopped until it has read what the shard says", () => {
	const stopped = stateWith({ shardStates: alarmed(0, "CutMismatch") });
	const source = {
		...sourceWith(),
		status: asStored(statusIn(decide(stopped, now))!),
	};
	expect(decide(stateWith({ source, shardStates: [] }), now)).toEqual([]);
	const full = stateWith({ isBufferFull: true });
	const filled = {
		...sourceWith(),
		status: asStored(statusIn(decide(full, now))!),
	};
	expect(
		decide(stateWith({ source: filled, isBufferFull: undefined }), now),
	).toEqual([]);
});

test("an archive that goes on failing is told at once, and the Source stays Ready", () => {
	const status = statusIn(decide(stateWith({ shardStates: alarmed(1) }), now));
	expect(status?.conditions).toEqual([
		expect.objectContaining({ type: "Ready", status: "True" }),
		expect.objectContaining({
			type: "ArchiveLags",
			reason: "ArchiveFails",
			message: expect.stringContaining("Archive of shard 1, which"),
		}),
	]);
});

test("that new Sources go to other shards is said only if one has room, and nothing changes while nobody knows", () => {
	const bufferIn = (state: Partial<SourceState>) =>
		statusIn(decide(stateWith({ isBufferFilling: true, ...state }), now))
			?.conditions?.[1]?.message;
	expect(bufferIn({ isElsewhereRoom: true })).toContain("New Sources go to");
	expect(bufferIn({})).not.toContain("New Sources go to");
	const before = statusIn(decide(stateWith({ isBufferFilling: true }), now))!;
	const source = { ...sourceWith(), status: asStored(before) };
	expect(
		decide(stateWith({ source, isBufferFilling: undefined }), now),
	).toEqual([]);
});

test("a loss that a person has accepted is told once by an Event and, until those days can't be loaded any more, by a condition", () => {
	const released = {
		...({ version: 1, account: "shop", sourceKey: "s", released: {} } as const),
		lost: {
			"2026-01-01": { events: 9, objects: 1 },
			"2026-02-28": { events: 7, objects: 2 },
		},
	};
	const shardStates = [{ version: 1, shard: 0, lostFrames: {} } as const];
	const first = decide(stateWith({ released, shardStates }), now);
	const before = statusIn(first)!;
	expect(before.conditions?.[1]).toMatchObject({
		type: "EventsLost",
		reason: "LossAccepted",
		message: expect.stringMatching(/ accepted: 7 of 2026-02-28 in 2 objects\./),
	});
	const eventsIn = (actions: ReturnType<typeof decide>) =>
		actions.flatMap((action) =>
			action.type === "recordKubeEvent" && action.reason === "LossAccepted"
				? action.message
				: [],
		);
	expect(eventsIn(first)).toEqual([before.conditions?.[1]?.message]);
	const source = { ...sourceWith(), status: asStored(before) };
	expect(decide(stateWith({ source, released, shardStates }), now)).toEqual([]);
	// Nobody has read the ledger yet.
	expect(decide(stateWith({ source, shardStates }), now)).toEqual([]);
	const more = {
		...released,
		lost: { "2026-03-01": { events: 1, objects: 1 } },
	};
	expect(
		eventsIn(decide(stateWith({ source, released: more, shardStates }), now)),
	).toEqual([expect.stringContaining("1 of 2026-03-01 in 1 object.")]);
	const later = statusIn(
		decide(stateWith({ source, released, shardStates }), now + 90 * 86_400_000),
	);
	expect(later?.conditions).not.toContainEqual(
		expect.objectContaining({ type: "EventsLost" }),
	);
});

test("every Source of a shard that lost frames says so, until those days can't be loaded any more", () => {
	const shard = { version: 1, shard: 0, lostFrames: {} } as const;
	const lostFrames = { "2026-02-28": 2, "2026-03-01": 1 };
	const before = statusIn(
		decide(stateWith({ shardStates: [{ ...shard, lostFrames }] }), now),
	)!;
	expect(before.conditions).toMatchObject([
		{ type: "Ready", status: "True" },
		{
			type: "EventsLost",
			status: "True",
			reason: "FramesLost",
			message: expect.stringContaining("2 on 2026-02-28, 1 on 2026-03-01"),
		},
	]);
	const source = { ...sourceWith(), status: before };
	const conditionsWith = (shardStates: SourceState["shardStates"]) =>
		statusIn(decide(stateWith({ source, shardStates }), now))?.conditions;
	expect(conditionsWith([shard])).toMatchObject([{ type: "Ready" }]);
	// While the ledger can't be read, the condition stays.
	expect(conditionsWith([])).toBeUndefined();
	// Archive that begins with a new NATS tells of a stop before it has read what was lost.
	expect(
		conditionsWith([{ ...shard, stopped: { alarm: "CutsMissing" } }]),
	).toContainEqual(expect.objectContaining({ type: "EventsLost" }));
});

test("a Source whose shard lost a stream that nobody had counted says since when events may be lost, beside what is counted", () => {
	const unknownSince = "2026-03-01T11:58:00.000Z";
	const findingIn = (lostFrames: Record<string, number>) =>
		statusIn(
			decide(
				stateWith({
					shardStates: [{ version: 1, shard: 0, lostFrames, unknownSince }],
				}),
				now,
			),
		)?.conditions?.[1];
	const unknown = findingIn({})!;
	expect(unknown).toMatchObject({
		...{ type: "EventsLost", status: "True", reason: "LossUnknown" },
		message: expect.stringContaining(
			`unknown how many frames were lost of shard 0, which this Source shares, since ${unknownSince}`,
		),
	});
	expect(unknown.message).not.toContain("acknowledged and lost");
	const both = findingIn({ "2026-02-28": 2 })!;
	expect(both.reason).toBe("FramesLost");
	expect(both.message).toContain("2 on 2026-02-28");
	expect(both.message).toContain(unknownSince);
});
