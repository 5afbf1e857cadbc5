// Preact: React's components in 5 KB.
import { effect } from "@preact/signals";
import { render } from "preact";
import { startStore } from "./api/changes.ts";
import { sessionLost } from "./api/request.ts";
import {
	loadSession,
	reviewSession,
	session,
	sessionState,
} from "./api/session.ts";
import { App } from "./app/app.tsx";
import { showHiddenCharacters } from "./app/hidden-characters.ts";
import { loadPage, pageOf } from "./app/pages.ts";
import { spendCode } from "./app/sign-in.tsx";
import { followUpgrades } from "./app/upgrade.ts";
import { address, namespace, startNavigation } from "./router/navigation.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/components.css";
import "./styles/forms.css";

showHiddenCharacters();
startNavigation();
render(<App />, document.getElementById("console")!);
const signIn = async () => {
	if (!(await spendCode())) await loadSession();
};
const signingIn = signIn();
// Meanwhile, and behind that request: a browser opens few connections. If the file doesn't come, the page says so when it is shown.
setTimeout(() => {
	const first = pageOf(address.value.path);
	if (first) loadPage(first.page).catch(() => undefined);
});
await signingIn;
startStore();
followUpgrades();

// The rights are those of one namespace.
effect(() => {
	const { value: wanted } = namespace;
	const known = session.peek();
	const isRefused = sessionState.peek().kind === "away";
	if (isRefused || (known && known.namespace !== wanted)) void loadSession();
});
effect(() => {
	if (sessionLost.value > 0) void loadSession();
});
// A right that was given or taken and the end of the session show within a minute.
setInterval(() => {
	if (!document.hidden && session.peek()) void loadSession();
}, 60_000);
document.addEventListener("visibilitychange", () => {
	if (!document.hidden) void reviewSession();
});
