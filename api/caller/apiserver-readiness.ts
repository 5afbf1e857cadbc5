import type { KubeClient } from "../../kube/client/client.ts";
import { unavailable } from "../http/errors.ts";

/**
 * Distinguishes a real 403 from that of an apiserver that is starting: until it has read its roles, it forbids everything
 * and isn't ready. Any authenticated user may ask `/readyz`, by the default role `system:public-info-viewer`.
 */
export class ApiserverReadiness {
	/** It has once reported that it is ready. Without that default role it never does; then every 403 counts as real. */
	#hasReported = false;

	/** Call this after an authentication, while the apiserver works. */
	async learn(client: KubeClient): Promise<void> {
		if (!this.#hasReported) await this.#isReady(client);
	}

	/** Returns the 403 itself, or a 503 if the apiserver isn't ready. */
	async judge(refusal: unknown, client: KubeClient): Promise<unknown> {
		const isReady = await this.#isReady(client);
		return isReady || !this.#hasReported ? refusal : unavailable();
	}

	async #isReady(client: KubeClient): Promise<boolean> {
		try {
			await client.rawText("GET", "/readyz");
			this.#hasReported = true;
			return true;
		} catch {
			return false;
		}
	}
}
