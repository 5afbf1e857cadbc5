// During an upgrade, the replica that answers may be of another build than the page, and not have its files. Until the app has
// begun, nothing else can say so; later, what was typed may be on the page. It counts as reloadForFile in app/upgrade.ts does, which
// has the reasons.
addEventListener(
	"error",
	({ target }) => {
		const isNeeded = target.matches?.("script, link[rel=stylesheet]");
		if (!isNeeded || document.querySelector("#console > *")) return;
		const app = document.getElementById("console");
		const say = (text) => {
			if (app && target.matches("script")) app.textContent = text;
		};
		const { missing } = history.state ?? {};
		const isRecent = missing && Date.now() - missing.atMs < 600_000;
		const before = isRecent ? missing.count : 0;
		if (before >= 5)
			return say(
				"A file of this page still isn't there. Reload it later, or tell whoever runs Tidemill.",
			);
		say("A file of this page isn't there. It loads again by itself.");
		const look = async () => {
			try {
				await (await fetch("./build.json")).json();
			} catch {
				setTimeout(look, 3_000);
				return;
			}
			const state = { missing: { count: before + 1, atMs: Date.now() } };
			history.replaceState({ ...history.state, ...state }, "");
			location.reload();
		};
		setTimeout(look, 3_000 * 2 ** before);
	},
	true,
);
