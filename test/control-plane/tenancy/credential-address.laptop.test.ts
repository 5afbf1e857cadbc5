import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { hasReason } from "../../../packages/kube/client/client.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import {
	CredentialScene,
	postgresAt,
} from "../../support/fixtures/control-plane/credential-scene.ts";

/* Who may write Destinations has no password of another's sent to a server of their own. */

let scene: CredentialScene;
beforeAll(async () => {
	scene = await CredentialScene.start();
});
afterAll(() => scene?.stop());

test("a stranger's server isn't even called with a Secret that doesn't name it; once who may change the Secret names it, it is", async () => {
	const { stranger, account, editor } = scene;
	await scene.secret("app", { host: "db.example.com" });
	await scene.destination(
		"theirs",
		postgresAt("127.0.0.1", stranger.port, "app"),
	);
	const { message } = await scene.becomes("theirs", "HostNotBound");
	expect(message).toContain(
		`kubectl annotate secret app -n ${account} tidemill.dev/hosts='postgres+verify-full://<HOST>:5432'`,
	);
	expect(message).toMatch(
		new RegExp(
			`asks for is postgres\\+disable://127\\.0\\.0\\.1:${stranger.port}, by ".+" at \\d{4}-[^ ]+Z\\. `,
		),
	);
	expect(await scene.jobs()).toEqual([]);
	const annotations = { "tidemill.dev/hosts": "postgres+disable://127.0.0.1" };
	const patched = await editor
		.patch(kinds.secret, "app", account, { metadata: { annotations } }, "merge")
		.catch((error) => error);
	expect(hasReason(patched, "Forbidden")).toBe(true);
	expect(stranger.received).toEqual([]);

	await scene.bind("app", `postgres+disable://127.0.0.1:${stranger.port}`);
	await vi.waitFor(
		() => expect(stranger.received.join()).toContain("user\0app\0"),
		{ timeout: 120_000 },
	);
});
