import type { KubeClient } from "../../kube/client/client.ts";
import { unavailable } from "../errors.ts";

/**
 * Tells a refusal from an apiserver that has just started: until it has read its roles it forbids everything to
 * everybody, and isn't ready (`/readyz`, which who is signed in may ask by the default role `system:public-info-viewer`).
 */
export class ApiserverReadiness {
	/** It has told that it is ready. Where that role was taken away, it never does, and refusals are believed. */
	#tells = false;

	/** To be called once somebody is signed in, while all is well. */
	async learn(client: KubeClient): Promise<void> {
		if (!this.#tells) await this.#isReady(client);
	}

	/** What a refusal means: itself, or that the apiserver isn't ready. */
	async judge(refusal: unknown, client: KubeClient): Promise<unknown> {
		const isReady = await this.#isReady(client);
		return isReady || !this.#tells ? refusal : unavailable();
	}

	async #isReady(client: KubeClient): Promise<boolean> {
		try {
			await client.rawText("GET", "/readyz");
			this.#tells = true;
			return true;
		} catch {
			return false;
		}
	}
}
