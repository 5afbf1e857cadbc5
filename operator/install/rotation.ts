import { X509Certificate } from "node:crypto";
import { issueAuthority, issueCertificate } from "./certificate.ts";
import { natsRoles } from "./nats-users.ts";
import {
	authorityDays,
	authorityName,
	certificateDays,
	certificatesIn,
	randomPassword,
	type SecretData,
} from "./secret-changes.ts";

export const rotations = [
	"nats-passwords",
	"nats-certificate",
	"seal-key",
	"console-key",
	"store-keys",
] as const;
/** What can be replaced. */
export type SecretRotation = (typeof rotations)[number];

/** How far a rotation is. It stands in an annotation of its Secret, so that a command goes on where another one was interrupted. */
export interface RotationState {
	/** Steps that are done; 0 before the first. */
	step: number;
	/** When the last one was, RFC 3339. */
	at: string;
}

export interface SecretFacts {
	name: string;
	data: SecretData;
	/** The authority's Secret, of `nats-certificate` alone. */
	authority?: SecretData | undefined;
	state?: RotationState | undefined;
}

/** What a step writes. An undefined value removes its key. */
export type KeyChanges = Record<string, string | undefined>;

export type RotationStep =
	| {
			type: "write";
			state: RotationState;
			/** By the names of Secrets; the rotation's own is the last. */
			changes: [name: string, keys: KeyChanges][];
			/** A StatefulSet whose process reads its Secret only when it starts. */
			restarts?: string;
			about: string;
	  }
	| { type: "wait"; untilMs: number; about: string }
	/** The command ends; the same command goes on after this time. */
	| { type: "later"; untilMs: number; about: string }
	| { type: "finish"; about: string };

interface Step {
	about: string;
	/** What has to be in effect everywhere before the next step. */
	waitFor: string;
	/** Longer than a change takes to reach all processes, or not at all. */
	wait?: "long" | "none";
	/** The store's StatefulSet starts again: its process reads its Secret only then. */
	isRestart?: boolean;
	write(facts: SecretFacts, nowMs: number): Promise<NextStepChanges>;
}

type NextStepChanges = { keys: KeyChanges; authority?: KeyChanges };

/** NATS keeps notifications for two days (operator/notification/outbox.ts), and most sessions of the console end sooner. */
const longMs = 2 * 24 * 3_600_000;

/**
 * What to do next. At no moment has one process a value that another refuses: a new value is known everywhere before it is
 * used, and the former one is dropped when nobody uses it any more.
 * @param settleMs how long a change may take until every process has it.
 * @param isNow the former seal key goes at once, and with it the notifications that it has sealed.
 */
export async function nextStep(
	rotation: SecretRotation,
	facts: SecretFacts,
	nowMs: number,
	{
		settleMs,
		isNow,
		store,
	}: { settleMs: number; isNow: boolean; store: string },
): Promise<RotationStep> {
	const steps = stepsOf[rotation];
	const done = facts.state?.step ?? 0;
	const last = done === 0 ? undefined : steps[done - 1];
	if (facts.state && last) {
		const isLong = last.wait === "long" && !isNow;
		const waitMs = settleMs + (isLong ? longMs : 0);
		const untilMs =
			Date.parse(facts.state.at) + (last.wait === "none" ? 0 : waitMs);
		if (nowMs < untilMs)
			return isLong
				? { type: "later", untilMs, about: last.waitFor }
				: { type: "wait", untilMs, about: last.waitFor };
	}
	const next = steps[done];
	if (!next)
		return { type: "finish", about: `${rotation}: everything is replaced` };
	const { keys, authority } = await next.write(facts, nowMs);
	return {
		type: "write",
		state: { step: done + 1, at: new Date(nowMs).toISOString() },
		changes: [
			...(authority
				? [[authorityName(facts.name), authority] as [string, KeyChanges]]
				: []),
			[facts.name, keys],
		],
		...(next.isRestart && { restarts: store }),
		about: `step ${done + 1} of ${steps.length}: ${next.about}`,
	};
}

const everywhere = "until NATS and all processes have read them";

const stepsOf: Record<SecretRotation, readonly Step[]> = {
	"nats-passwords": [
		{
			about: "the second user of each role has a new password",
			waitFor: everywhere,
			write: async () => ({
				keys: newPasswords(natsRoles.map((role) => `${role}-b`)),
			}),
		},
		{
			about: "the first user of each role and admin have new passwords",
			waitFor: everywhere,
			write: async () => ({ keys: newPasswords([...natsRoles, "admin"]) }),
		},
	],
	"seal-key": sealKeySteps({
		users: "operator, receive and notify",
		swap: "the new key seals, and operator seals anew what is stored",
		waitFor:
			"The former key opens the notifications that wait in NATS, for two days. The same command removes it after that, and with --now at once.",
	}),
	"console-key": sealKeySteps({
		users: "all processes of the API",
		swap: "the new key seals new sessions of the console",
		waitFor:
			"The former key opens the sessions that it has sealed, for two days. The same command removes it after that, and with --now at once; who has such a session then signs in again.",
	}),
	"nats-certificate": [
		{
			about: "clients trust a new authority, too",
			waitFor: "until all processes have read it",
			write: async ({ data }, nowMs) => {
				const { cert, key } = await issueAuthority(
					"CN=tidemill-nats",
					nowMs,
					authorityDays,
				);
				return {
					authority: { "next.crt": cert, "next.key": key },
					keys: { "ca.crt": cert + data["ca.crt"]! },
				};
			},
		},
		{
			about: "NATS has a certificate of the new authority",
			waitFor: "until NATS has read it",
			write: async ({ data, authority = {} }, nowMs) => {
				// A command that was interrupted here has made it the authority already.
				const next = {
					cert: authority["next.crt"] ?? authority["tls.crt"]!,
					key: authority["next.key"] ?? authority["tls.key"]!,
				};
				const { cert, key } = await issueCertificate(
					{ name: "CN=nats", hosts: hostsOf(data["tls.crt"]!) },
					next,
					nowMs,
					certificateDays,
				);
				return {
					authority: {
						"tls.crt": next.cert,
						"tls.key": next.key,
						"next.crt": undefined,
						"next.key": undefined,
					},
					keys: { "tls.crt": cert, "tls.key": key },
				};
			},
		},
		{
			about: "clients trust the new authority alone",
			waitFor: "until all processes have read it",
			write: async ({ data }) => ({
				keys: { "ca.crt": certificatesIn(data["ca.crt"]!)[0]! },
			}),
		},
	],
	"store-keys": [
		{
			about: "there are new keys",
			waitFor: "",
			wait: "none",
			write: async () => ({
				keys: newPasswords(["accessKeyId", "secretAccessKey"]),
			}),
		},
		{
			about: "the bundled store starts again with them",
			waitFor: "until the store and archive have read them",
			isRestart: true,
			write: async () => ({ keys: {} }),
		},
	],
};

/** @param words who reads the key, what the new one does, and what the former one is still there for. */
function sealKeySteps(words: {
	users: string;
	swap: string;
	waitFor: string;
}): readonly Step[] {
	const { users, swap, waitFor } = words;
	return [
		{
			about: "there is a new key, which seals nothing yet",
			waitFor: `until ${users} have read it`,
			write: async () => ({ keys: { "seal-key-next": randomPassword() } }),
		},
		{
			about: swap,
			waitFor,
			wait: "long",
			write: async ({ data }) => ({
				keys: {
					"seal-key": data["seal-key-next"]!,
					"seal-key-former": data["seal-key"]!,
					"seal-key-next": undefined,
				},
			}),
		},
		{
			about: "the former key is gone",
			waitFor: `until ${users} have forgotten it`,
			write: async () => ({ keys: { "seal-key-former": undefined } }),
		},
	];
}

function newPasswords(keys: readonly string[]): KeyChanges {
	return Object.fromEntries(keys.map((key) => [key, randomPassword()]));
}

/** The names that a certificate is for. */
function hostsOf(cert: string): string[] {
	const { subjectAltName = "" } = new X509Certificate(cert);
	return subjectAltName.split(", ").map((name) => name.replace(/^[^:]+:/, ""));
}
