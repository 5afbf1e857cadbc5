import { onTestFinished, vi } from "vitest";

interface ApiAnswer {
	status?: number;
	body: unknown;
}

/** Undefined if the API doesn't answer. */
type Answerer = (url: URL, init?: RequestInit) => ApiAnswer | undefined;

const baseURI = "https://tidemill.example/console/";

/**
 * A tab of a browser as far as the console looks at it before anything is rendered: its address and history
 * (https://html.spec.whatwg.org/multipage/nav-history-apis.html), and the API. Its globals go with the test; the modules that were
 * loaded meanwhile stay as they are.
 */
export class BrowserTab {
	reloads = 0;
	#events = new EventTarget();
	#answerer: Answerer = () => undefined;
	#entries: { url: string; state: unknown }[];
	#at = 0;

	/** @param path below the console's base */
	constructor(path: string) {
		this.#entries = [{ url: new URL(path, baseURI).href, state: null }];
		const addEventListener: EventTarget["addEventListener"] = (...given) =>
			this.#events.addEventListener(...given);
		const document = {
			...{ baseURI, hidden: false, addEventListener },
			getElementById: () => null,
			querySelector: () => null,
		};
		const globals = {
			...{ document, addEventListener, scrollTo: () => {} },
			...{ history: this.#history(), location: this.#location() },
			fetch: async (url: URL | string, init?: RequestInit) =>
				this.#fetch(new URL(url, baseURI), init),
			BroadcastChannel: class {
				postMessage() {}
			},
		};
		for (const [name, value] of Object.entries(globals))
			vi.stubGlobal(name, value);
		onTestFinished(() => void vi.unstubAllGlobals());
	}

	answer(answerer: Answerer): void {
		this.#answerer = answerer;
	}

	/** What the browser's Back does. */
	back(): void {
		this.#go(-1);
	}

	/** The page is loaded: nobody listens yet. */
	load(): void {
		this.#events = new EventTarget();
	}

	/** A script that the page names doesn't come. */
	missScript(): void {
		const matches = (selector: string) => selector.includes("script");
		const event = new Event("error");
		Object.defineProperty(event, "target", { value: { matches } });
		this.#events.dispatchEvent(event);
	}

	get #here() {
		return this.#entries[this.#at]!;
	}

	#history() {
		const here = () => this.#here;
		const write = (state: unknown, url: URL | string = here().url) => ({
			url: new URL(url, baseURI).href,
			state: structuredClone(state),
		});
		return {
			get state() {
				return here().state;
			},
			pushState: (state: unknown, _: string, url?: URL | string) => {
				const before = this.#entries.slice(0, ++this.#at);
				this.#entries = [...before, write(state, url)];
			},
			replaceState: (state: unknown, _: string, url?: URL | string) => {
				this.#entries[this.#at] = write(state, url);
			},
			go: (steps: number) => queueMicrotask(() => this.#go(steps)),
		};
	}

	#location() {
		const here = () => this.#here;
		return {
			get href() {
				return here().url;
			},
			reload: () => void this.reloads++,
		};
	}

	/** As much of a Response as the console reads. */
	#fetch(url: URL, init: RequestInit | undefined) {
		const answer = this.#answerer(url, init);
		if (!answer) throw new TypeError("Failed to fetch");
		const { status = 200, body } = answer;
		return {
			...{ ok: status < 300, status, headers: new Headers() },
			json: async () => body,
			text: async () => JSON.stringify(body),
		};
	}

	#go(steps: number): void {
		if (!this.#entries[this.#at + steps]) return;
		this.#at += steps;
		const { state } = this.#here;
		this.#events.dispatchEvent(Object.assign(new Event("popstate"), { state }));
	}
}
