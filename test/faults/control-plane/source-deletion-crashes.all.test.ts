// In make test: operator/source/deletion/decide.test.ts
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { sourceKind } from "../../../crds/generated/types.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { SourceScene } from "../../support/fixtures/control-plane/source-scene.ts";
import {
	ApiserverProxy,
	isWrite,
	type SeenRequest,
} from "../../support/proxies/apiserver-proxy.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";

let proxy: ApiserverProxy;
let scene: SourceScene;
let directory: string;

beforeAll(async () => {
	proxy = await ApiserverProxy.start(loadKubeConfig(inject("kubeconfig")));
	directory = await temporaryDirectory("crashes");
	const kubeconfig = join(directory, "kubeconfig");
	await writeFile(kubeconfig, proxy.kubeConfig.exportConfig());
	scene = await SourceScene.start({ env: { KUBECONFIG: kubeconfig } });
});

afterAll(async () => {
	await scene?.stop();
	await proxy?.close();
	await rm(directory, { recursive: true, force: true });
});

/** More than an operator writes for one deletion. */
const mostWrites = 24;

test("the next operator finishes the deletion of one that was killed after any of its writes", async () => {
	let reached = 0;
	for (let index = 0; index < mostWrites; index++) {
		const { sourceKey } = await scene.sourceWithEvent("gone");
		let asked = 0;
		let writes = 0;
		let killed: Promise<void> | undefined;
		const isCounted = (request: SeenRequest) =>
			isWrite(request) && request.path.includes("/gone");
		proxy.onRequest = (request) => {
			if (isCounted(request)) asked++;
		};
		proxy.onAnswer = (request) => {
			if (!isCounted(request) || writes++ < index) return undefined;
			// The write is done, and no answer arrives.
			killed ??= scene.operator.killOperator();
			return new Promise(() => {});
		};
		await scene.operator.client.delete(sourceKind, "gone", scene.account);
		await Promise.race([scene.gone("gone"), scene.operator.operatorEnded()]);
		// The Source may be seen gone before the answer to its last write has come.
		await vi.waitUntil(() => killed !== undefined || writes === asked, {
			timeout: 60_000,
		});
		proxy.onRequest = () => undefined;
		proxy.onAnswer = () => undefined;
		if (!killed) break;
		reached++;
		await killed;
		scene.operator.startOperator();
		await scene.gone("gone");
		expect(await scene.objectsOf(sourceKey)).toEqual([]);
		expect(await scene.keyOwner(sourceKey)).toBe("(deleted)");
		expect(
			await scene.operator.client.get(
				kinds.secret,
				"gone-webhook-url",
				scene.account,
			),
		).toBeUndefined();
	}
	// The status, the Secret, and the finalizer.
	expect(reached).toBeGreaterThanOrEqual(3);
	expect(reached).toBeLessThan(mostWrites);
});
