/**
 * How much work an event may cost: a count of steps, so that the same event costs the same everywhere, however busy the
 * machine. Everything that a stranger's schema or body can make long burns steps.
 */
export class Fuel {
	left: number;

	constructor(steps = Number.POSITIVE_INFINITY) {
		this.left = steps;
	}

	/** @throws OutOfFuel */
	burn(steps: number): void {
		this.left -= steps;
		if (this.left < 0) throw new OutOfFuel();
	}
}

export class OutOfFuel extends Error {
	constructor() {
		super("Validating the event takes too many steps.");
	}
}
