// During an upgrade, the replica that answers may be of another build than the page, and not have its files. Until the app has
// begun, nothing else can say so; later, what was typed may be on the page.
addEventListener(
	"error",
	({ target }) => {
		const isNeeded = target.matches?.("script, link[rel=stylesheet]");
		if (!isNeeded || document.querySelector("#console > *")) return;
		const app = document.getElementById("console");
		if (app && target.matches("script"))
			app.textContent =
				"A file of this page isn't there. It loads again by itself.";
		setTimeout(() => location.reload(), 3_000);
	},
	true,
);
