import { join } from "node:path";
import {
	afterEach,
	beforeEach,
	expect,
	onTestFinished,
	test,
	vi,
} from "vitest";
import { mountSecret } from "../../../test/support/faults/mounted-secret.ts";
import { passingDirectory } from "../../../test/support/faults/passing-directory.ts";
import { createLog } from "../log.ts";
import { SecretFileError } from "../secret-files.ts";
import { Settings } from "../settings.ts";
import { natsSignIn } from "./sign-in.ts";

const log = createLog("test");
log.level = "silent";

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
});

async function open(users: Record<string, string>) {
	const directory = join(await passingDirectory("users"), "nats");
	const mount = (users: Record<string, string>) =>
		mountSecret(directory, users);
	mount(users);
	const settings = new Settings({ NATS_USERS_DIR: directory });
	const signIn = natsSignIn(settings, undefined, log);
	onTestFinished(() => signIn.close());
	return { signIn, mount };
}

test("refused as one user, a process signs in as the other, and stays with whom NATS took", async () => {
	const { signIn } = await open({ receive: "1", "receive-b": "2" });
	expect(signIn.user).toEqual({ user: "receive", pass: "1" });
	signIn.refused();
	expect(signIn.user).toEqual({ user: "receive-b", pass: "2" });
	signIn.taken();
	expect(signIn.user).toEqual({ user: "receive-b", pass: "2" });
});

test("a changed password is used for the next connection, and the one that NATS took last if NATS doesn't have it yet", async () => {
	const { signIn, mount } = await open({ receive: "1" });
	signIn.taken();
	mount({ receive: "2" });
	vi.advanceTimersByTime(10_000);
	expect(signIn.user).toEqual({ user: "receive", pass: "2" });
	signIn.refused();
	expect(signIn.user).toEqual({ user: "receive", pass: "1" });
	signIn.refused();
	expect(signIn.user).toEqual({ user: "receive", pass: "2" });
});

test("a corrected password is read at once after a refusal", async () => {
	const { signIn, mount } = await open({ receive: "wrong" });
	vi.advanceTimersByTime(1_000);
	mount({ receive: "right" });
	signIn.refused();
	expect(signIn.user).toEqual({ user: "receive", pass: "right" });
});

test("a password that an earlier version wanted percent-encoded still signs in", async () => {
	const { signIn } = await open({ receive: "p%40ss" });
	expect(signIn.user?.pass).toBe("p%40ss");
	signIn.refused();
	expect(signIn.user?.pass).toBe("p@ss");
});

test("what to do about a refusal names the users, and no password", async () => {
	const { signIn } = await open({ receive: "s3cret", "receive-b": "s3cret" });
	const advice = signIn.refused();
	expect(advice).toContain("receive and receive-b");
	expect(advice).not.toContain("s3cret");
	const ofUrl = natsSignIn(
		new Settings({}),
		{ user: "receive", pass: "s3cret" },
		log,
	);
	expect(ofUrl.refused()).toContain("kubectl rollout restart");
});

test("a folder without users is an error that names it", async () => {
	await expect(open({})).rejects.toThrow(SecretFileError);
});
