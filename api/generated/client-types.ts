// Generated from the CRDs and the API's operations by "npm run unit -- operator/api/reference-page -u". Change those instead.

/** A webhook connection. It has a personal URL that accepts events; each accepted request is one event. */
export type Source = {
	/** Name of the resource. It can't change. */
	name: string;
	/** When it was made. */
	creationTimestamp: string;
	/** What keeps the resource in step with a repository and will undo changes made here. Absent when nothing does. */
	managedBy?: "ArgoCD" | "Flux" | "Helm";
	/** The state in one word. */
	phase?: "Pending" | "Active" | "Suspended" | "Error" | "Deleting";
	/** Where senders POST events to. Who has it can send events. Each new value of the annotation `tidemill.dev/rotate-url`, such as a date, gives the Source another URL, once; senders with the earlier one are answered with 404 from then on. */
	webhookURL?: string;
	/** The first of the URL's two keys. It names the Source's data in the bucket and stays the same for life. */
	sourceKey?: string;
	/** The shard that the Source's events go through on their way to the bucket; an alarm of archive names it. */
	shard?: number;
	/** UTC date of the first event. */
	firstEventDate?: string;
	/** When the latest archived event was received. */
	lastEventTime?: string;
	/** Every event accepted before this instant is archived. */
	archivedThrough?: string;
	/** Events of the dates that are retained. */
	counts?: {
		/** Events that archive has taken over from the receivers: those in the bucket and those kept aside. */
		accepted?: number;
		/** Events in the bucket. */
		archived?: number;
		/** Events kept aside because the TrackingPlan says so. */
		quarantined?: number;
	};
	/** How long events stay. */
	retention?: {
		/** Days for which an event stays in the bucket after its date. */
		days?: number;
		/** Who removes events after that. `Lifecycle`: a rule among the bucket's own, which archive keeps there. `Sweep`: archive itself, hourly, as the store has no lifecycle rules or archive may not set them. */
		enforcedBy?: "Lifecycle" | "Sweep";
	};
	/** `Ready`: the URL accepts events. */
	conditions?: Array<{
		/** Type of the condition. */
		type: string;
		/** Whether the condition holds. */
		status: "True" | "False" | "Unknown";
		/** The metadata.generation that this condition speaks of. */
		observedGeneration?: number;
		/** When `status` last flipped. */
		lastTransitionTime: string;
		/** Why, in one word for machines. */
		reason: string;
		/** Why, and what to do, for people. */
		message: string;
	}>;
	/** Label shown to people. */
	displayName?: string;
	/** How events arrive. */
	type: "Webhook";
	/** Settings of a webhook. */
	webhook?: {
		/** What a sender must present besides knowing the URL. */
		authorization?: {
			/** `None`: the URL is enough. `CustomToken`: a token of your choice as `Authorization: Bearer`, `X-Webhook-Token` or `?token=`. `Signature`: the sender signs each request. */
			type: "None" | "CustomToken" | "Signature";
			/** The token that senders present. */
			customToken?: {
				/** The Secret that holds the token. It must carry the label `tidemill.dev/use: "true"`. */
				secretRef: {
					/** Name of the Secret, in the Source's namespace. */
					name: string;
					/** Key in the Secret's data. */
					key: string;
				};
			};
			/** How requests are signed. */
			signature?: {
				/** The provider's way of signing, or `Custom` to describe another. */
				scheme: "StandardWebhooks" | "GitHub" | "Stripe" | "Shopify" | "Slack" | "Custom";
				/** The Secrets that hold signing secrets; a request signed with any of them is accepted, so that one can be replaced by another. Each must carry the label `tidemill.dev/use: "true"`. */
				secretRefs: Array<{
					/** Name of the Secret, in the Source's namespace. */
					name: string;
					/** Key in the Secret's data. */
					key: string;
				}>;
				/** How old or how far in the future a signed timestamp may be, in seconds. Schemes without a timestamp don't use it. */
				toleranceSeconds?: number;
				/** A signature that none of the known schemes describes. */
				custom?: {
					/** Header that holds the signature, in lower case. */
					header: string;
					/** What stands before the signature in the header, such as `sha256=`. */
					prefix?: string;
					/** The HMAC's hash function. */
					algorithm: "SHA1" | "SHA256" | "SHA512";
					/** How the signature is written. */
					encoding: "Hex" | "Base64";
					/** What is signed. `{body}` stands for the raw body, `{timestamp}` for the value of `timestampHeader`. */
					signedString?: string;
					/** Header that holds the time of signing in Unix seconds, in lower case. */
					timestampHeader?: string;
				};
			};
		};
		/** How senders check the URL before they send events. Their checks are answered and not stored. */
		verification?: {
			/** Answer GET and HEAD on the URL with 200, for senders that look whether it is there. */
			allowGet?: boolean;
			/** The providers whose handshake is answered. `Slack`: its `url_verification` event. `MicrosoftGraph`: a `validationToken` in the query. `EventGrid`: a subscription's validation event, or that of CloudEvents by OPTIONS. */
			handshakes?: Array<"Slack" | "MicrosoftGraph" | "EventGrid">;
		};
		/** Senders repeat a request whose answer they didn't get. One that has the key of an earlier one is answered with the first event's id, and stored once. Absent: each accepted request is an event. */
		idempotency?: {
			/** Where the sender's key is found. Exactly one of the fields. A request without a key is an event of its own. */
			key: {
				/** Where the provider puts it. `StandardWebhooks`: the header `webhook-id`. `Stripe`: `/id` of the body. `GitHub`: the header `x-github-delivery`. `Shopify`: the header `x-shopify-webhook-id`. */
				preset?: "StandardWebhooks" | "Stripe" | "GitHub" | "Shopify";
				/** Request header, in lower case, such as `idempotency-key`. */
				header?: string;
				/** JSON Pointer (RFC 6901) into the body, such as `/event/id`, to a text or a whole number. */
				bodyPointer?: string;
			};
			/** How long a key is kept from its first request on, in seconds. Up to 7 days. */
			windowSeconds?: number;
		};
		/** Largest body that is accepted, in bytes, also after decompression; a larger one is answered with 413. */
		maxBodyBytes?: number;
		/** Request headers, in lower case, that are stored with each event. Tables get a column for each: `x-github-event` becomes `header_x_github_event`. */
		capturedHeaders?: Array<string>;
		/** The TrackingPlan that says what events should look like. */
		trackingPlanRef?: {
			/** Name of the TrackingPlan, in the Source's namespace. */
			name: string;
		};
	};
	/** Refuse events with 403 until this is false again. */
	suspend?: boolean;
	/** What happens to the URL and to stored events when the Source is deleted. With `Retain` a Source that is made again under the same name has both back; events stay until they are 30 days old. With `Delete` the URL is given up for good and all stored events are deleted; the Source is there, with the phase `Deleting`, until that is done. */
	deletionPolicy?: "Retain" | "Delete";
};

/** A page of a list. */
export type SourceList = {
	items: Array<Source>;
	/** Ask for the next page with it. Absent on the last page. */
	cursor?: string;
};

/** A new Source. Without a name one is made from the display name. */
export type SourceCreate = {
	/** Name of the resource. It can't change. */
	name?: string;
	/** Label shown to people. */
	displayName?: string;
	/** How events arrive. */
	type: "Webhook";
	/** Settings of a webhook. */
	webhook?: {
		/** What a sender must present besides knowing the URL. */
		authorization?: {
			/** `None`: the URL is enough. `CustomToken`: a token of your choice as `Authorization: Bearer`, `X-Webhook-Token` or `?token=`. `Signature`: the sender signs each request. */
			type: "None" | "CustomToken" | "Signature";
			/** The token that senders present. */
			customToken?: {
				/** The Secret that holds the token. It must carry the label `tidemill.dev/use: "true"`. */
				secretRef?: {
					/** Name of the Secret, in the Source's namespace. */
					name: string;
					/** Key in the Secret's data. */
					key: string;
				};
				/** The token itself, instead of `secretRef`. It goes into a Secret and is never shown. */
				token?: string;
			};
			/** How requests are signed. */
			signature?: {
				/** The provider's way of signing, or `Custom` to describe another. */
				scheme: "StandardWebhooks" | "GitHub" | "Stripe" | "Shopify" | "Slack" | "Custom";
				/** The Secrets that hold signing secrets; a request signed with any of them is accepted, so that one can be replaced by another. Each must carry the label `tidemill.dev/use: "true"`. */
				secretRefs?: Array<{
					/** Name of the Secret, in the Source's namespace. */
					name: string;
					/** Key in the Secret's data. */
					key: string;
				}>;
				/** How old or how far in the future a signed timestamp may be, in seconds. Schemes without a timestamp don't use it. */
				toleranceSeconds?: number;
				/** A signature that none of the known schemes describes. */
				custom?: {
					/** Header that holds the signature, in lower case. */
					header: string;
					/** What stands before the signature in the header, such as `sha256=`. */
					prefix?: string;
					/** The HMAC's hash function. */
					algorithm: "SHA1" | "SHA256" | "SHA512";
					/** How the signature is written. */
					encoding: "Hex" | "Base64";
					/** What is signed. `{body}` stands for the raw body, `{timestamp}` for the value of `timestampHeader`. */
					signedString?: string;
					/** Header that holds the time of signing in Unix seconds, in lower case. */
					timestampHeader?: string;
				};
				/** The signing secrets themselves, instead of `secretRefs`. They go into a Secret and are never shown. */
				secrets?: Array<string>;
			};
		};
		/** How senders check the URL before they send events. Their checks are answered and not stored. */
		verification?: {
			/** Answer GET and HEAD on the URL with 200, for senders that look whether it is there. */
			allowGet?: boolean;
			/** The providers whose handshake is answered. `Slack`: its `url_verification` event. `MicrosoftGraph`: a `validationToken` in the query. `EventGrid`: a subscription's validation event, or that of CloudEvents by OPTIONS. */
			handshakes?: Array<"Slack" | "MicrosoftGraph" | "EventGrid">;
		};
		/** Senders repeat a request whose answer they didn't get. One that has the key of an earlier one is answered with the first event's id, and stored once. Absent: each accepted request is an event. */
		idempotency?: {
			/** Where the sender's key is found. Exactly one of the fields. A request without a key is an event of its own. */
			key: {
				/** Where the provider puts it. `StandardWebhooks`: the header `webhook-id`. `Stripe`: `/id` of the body. `GitHub`: the header `x-github-delivery`. `Shopify`: the header `x-shopify-webhook-id`. */
				preset?: "StandardWebhooks" | "Stripe" | "GitHub" | "Shopify";
				/** Request header, in lower case, such as `idempotency-key`. */
				header?: string;
				/** JSON Pointer (RFC 6901) into the body, such as `/event/id`, to a text or a whole number. */
				bodyPointer?: string;
			};
			/** How long a key is kept from its first request on, in seconds. Up to 7 days. */
			windowSeconds?: number;
		};
		/** Largest body that is accepted, in bytes, also after decompression; a larger one is answered with 413. */
		maxBodyBytes?: number;
		/** Request headers, in lower case, that are stored with each event. Tables get a column for each: `x-github-event` becomes `header_x_github_event`. */
		capturedHeaders?: Array<string>;
		/** The TrackingPlan that says what events should look like. */
		trackingPlanRef?: {
			/** Name of the TrackingPlan, in the Source's namespace. */
			name: string;
		};
	};
	/** Refuse events with 403 until this is false again. */
	suspend?: boolean;
	/** What happens to the URL and to stored events when the Source is deleted. With `Retain` a Source that is made again under the same name has both back; events stay until they are 30 days old. With `Delete` the URL is given up for good and all stored events are deleted; the Source is there, with the phase `Deleting`, until that is done. */
	deletionPolicy?: "Retain" | "Delete";
};

/** A JSON Merge Patch (RFC 7396): null removes a field, lists are replaced as a whole. */
export type SourceUpdate = {
	/** Label shown to people. */
	displayName?: string | null;
	/** How events arrive. */
	type?: "Webhook" | null;
	/** Settings of a webhook. */
	webhook?: {
		/** What a sender must present besides knowing the URL. */
		authorization?: {
			/** `None`: the URL is enough. `CustomToken`: a token of your choice as `Authorization: Bearer`, `X-Webhook-Token` or `?token=`. `Signature`: the sender signs each request. */
			type?: "None" | "CustomToken" | "Signature" | null;
			/** The token that senders present. */
			customToken?: {
				/** The Secret that holds the token. It must carry the label `tidemill.dev/use: "true"`. */
				secretRef?: {
					/** Name of the Secret, in the Source's namespace. */
					name?: string | null;
					/** Key in the Secret's data. */
					key?: string | null;
				} | null;
				/** The token itself, instead of `secretRef`. It goes into a Secret and is never shown. */
				token?: string | null;
			} | null;
			/** How requests are signed. */
			signature?: {
				/** The provider's way of signing, or `Custom` to describe another. */
				scheme?: "StandardWebhooks" | "GitHub" | "Stripe" | "Shopify" | "Slack" | "Custom" | null;
				/** The Secrets that hold signing secrets; a request signed with any of them is accepted, so that one can be replaced by another. Each must carry the label `tidemill.dev/use: "true"`. */
				secretRefs?: Array<{
					/** Name of the Secret, in the Source's namespace. */
					name: string;
					/** Key in the Secret's data. */
					key: string;
				}> | null;
				/** How old or how far in the future a signed timestamp may be, in seconds. Schemes without a timestamp don't use it. */
				toleranceSeconds?: number | null;
				/** A signature that none of the known schemes describes. */
				custom?: {
					/** Header that holds the signature, in lower case. */
					header?: string | null;
					/** What stands before the signature in the header, such as `sha256=`. */
					prefix?: string | null;
					/** The HMAC's hash function. */
					algorithm?: "SHA1" | "SHA256" | "SHA512" | null;
					/** How the signature is written. */
					encoding?: "Hex" | "Base64" | null;
					/** What is signed. `{body}` stands for the raw body, `{timestamp}` for the value of `timestampHeader`. */
					signedString?: string | null;
					/** Header that holds the time of signing in Unix seconds, in lower case. */
					timestampHeader?: string | null;
				} | null;
				/** The signing secrets themselves, instead of `secretRefs`. They go into a Secret and are never shown. */
				secrets?: Array<string> | null;
			} | null;
		} | null;
		/** How senders check the URL before they send events. Their checks are answered and not stored. */
		verification?: {
			/** Answer GET and HEAD on the URL with 200, for senders that look whether it is there. */
			allowGet?: boolean | null;
			/** The providers whose handshake is answered. `Slack`: its `url_verification` event. `MicrosoftGraph`: a `validationToken` in the query. `EventGrid`: a subscription's validation event, or that of CloudEvents by OPTIONS. */
			handshakes?: Array<"Slack" | "MicrosoftGraph" | "EventGrid"> | null;
		} | null;
		/** Senders repeat a request whose answer they didn't get. One that has the key of an earlier one is answered with the first event's id, and stored once. Absent: each accepted request is an event. */
		idempotency?: {
			/** Where the sender's key is found. Exactly one of the fields. A request without a key is an event of its own. */
			key?: {
				/** Where the provider puts it. `StandardWebhooks`: the header `webhook-id`. `Stripe`: `/id` of the body. `GitHub`: the header `x-github-delivery`. `Shopify`: the header `x-shopify-webhook-id`. */
				preset?: "StandardWebhooks" | "Stripe" | "GitHub" | "Shopify" | null;
				/** Request header, in lower case, such as `idempotency-key`. */
				header?: string | null;
				/** JSON Pointer (RFC 6901) into the body, such as `/event/id`, to a text or a whole number. */
				bodyPointer?: string | null;
			} | null;
			/** How long a key is kept from its first request on, in seconds. Up to 7 days. */
			windowSeconds?: number | null;
		} | null;
		/** Largest body that is accepted, in bytes, also after decompression; a larger one is answered with 413. */
		maxBodyBytes?: number | null;
		/** Request headers, in lower case, that are stored with each event. Tables get a column for each: `x-github-event` becomes `header_x_github_event`. */
		capturedHeaders?: Array<string> | null;
		/** The TrackingPlan that says what events should look like. */
		trackingPlanRef?: {
			/** Name of the TrackingPlan, in the Source's namespace. */
			name?: string | null;
		} | null;
	} | null;
	/** Refuse events with 403 until this is false again. */
	suspend?: boolean | null;
	/** What happens to the URL and to stored events when the Source is deleted. With `Retain` a Source that is made again under the same name has both back; events stay until they are 30 days old. With `Delete` the URL is given up for good and all stored events are deleted; the Source is there, with the phase `Deleting`, until that is done. */
	deletionPolicy?: "Retain" | "Delete" | null;
};

/** A warehouse that tables are loaded into. */
export type Destination = {
	/** Name of the resource. It can't change. */
	name: string;
	/** When it was made. */
	creationTimestamp: string;
	/** What keeps the resource in step with a repository and will undo changes made here. Absent when nothing does. */
	managedBy?: "ArgoCD" | "Flux" | "Helm";
	/** The state in one word. */
	phase?: "Checking" | "Ready" | "Error";
	/** The latest verification that ended. */
	lastCheck?: {
		/** Digest of what was verified, the spec and the Secrets it names. When that changes, it is verified again. */
		hash?: string;
		/** When it ended. */
		time?: string;
		/** How many verifications of this hash have failed in a row. Sets how long the next one waits. */
		failures?: number;
	};
	/** `Ready`: the last verification wrote to the warehouse. Otherwise the message is in the warehouse's own words. */
	conditions?: Array<{
		/** Type of the condition. */
		type: string;
		/** Whether the condition holds. */
		status: "True" | "False" | "Unknown";
		/** The metadata.generation that this condition speaks of. */
		observedGeneration?: number;
		/** When `status` last flipped. */
		lastTransitionTime: string;
		/** Why, in one word for machines. */
		reason: string;
		/** Why, and what to do, for people. */
		message: string;
	}>;
	/** Label shown to people. */
	displayName?: string;
	/** The kind of warehouse. `DuckDB` is embedded, a file on a volume. */
	type: "BigQuery" | "DuckDB";
	/** ServiceAccount of the Pods that load and check, for workload identity. The namespace's `default` when empty. */
	serviceAccountName?: string;
	/** A BigQuery dataset. */
	bigQuery?: {
		/** The Google Cloud project that holds the dataset. */
		projectId: string;
		/** The dataset that holds the tables. */
		dataset: string;
		/** Where the dataset is, such as `EU`, `US` or `europe-west1`. */
		location?: string;
		/** Make the dataset if it is not there. */
		createDataset?: boolean;
		/** A service account's key, where workload identity is not to be had. */
		credentials?: {
			/** The Secret that holds the JSON key. It must carry the label `tidemill.dev/use: "true"`. */
			secretRef: {
				/** Name of the Secret, in the Destination's namespace. */
				name: string;
				/** Key in the Secret's data. */
				key: string;
			};
		};
		/** Another address of the BigQuery API. It must be on the operator's allow-list. */
		apiEndpoint?: string;
		/** Name of a Cloud Storage bucket through which data goes up. Without one it is uploaded directly. */
		stagingBucket?: string;
	};
	/** A DuckDB file. */
	duckDB?: {
		/** The file, relative to the volume. */
		path: string;
		/** The PersistentVolumeClaim that holds the file. Required in a cluster; local mode has a folder instead. */
		volumeClaimName?: string;
	};
};

/** A page of a list. */
export type DestinationList = {
	items: Array<Destination>;
	/** Ask for the next page with it. Absent on the last page. */
	cursor?: string;
};

/** A new Destination. Without a name one is made from the display name. */
export type DestinationCreate = {
	/** Name of the resource. It can't change. */
	name?: string;
	/** Label shown to people. */
	displayName?: string;
	/** The kind of warehouse. `DuckDB` is embedded, a file on a volume. */
	type: "BigQuery" | "DuckDB";
	/** ServiceAccount of the Pods that load and check, for workload identity. The namespace's `default` when empty. */
	serviceAccountName?: string;
	/** A BigQuery dataset. */
	bigQuery?: {
		/** The Google Cloud project that holds the dataset. */
		projectId: string;
		/** The dataset that holds the tables. */
		dataset: string;
		/** Where the dataset is, such as `EU`, `US` or `europe-west1`. */
		location?: string;
		/** Make the dataset if it is not there. */
		createDataset?: boolean;
		/** A service account's key, where workload identity is not to be had. */
		credentials?: {
			/** The Secret that holds the JSON key. It must carry the label `tidemill.dev/use: "true"`. */
			secretRef?: {
				/** Name of the Secret, in the Destination's namespace. */
				name: string;
				/** Key in the Secret's data. */
				key: string;
			};
			/** The service account's JSON key as text, instead of `secretRef`. It goes into a Secret and is never shown. */
			key?: string;
		};
		/** Another address of the BigQuery API. It must be on the operator's allow-list. */
		apiEndpoint?: string;
		/** Name of a Cloud Storage bucket through which data goes up. Without one it is uploaded directly. */
		stagingBucket?: string;
	};
	/** A DuckDB file. */
	duckDB?: {
		/** The file, relative to the volume. */
		path: string;
		/** The PersistentVolumeClaim that holds the file. Required in a cluster; local mode has a folder instead. */
		volumeClaimName?: string;
	};
};

/** A JSON Merge Patch (RFC 7396): null removes a field, lists are replaced as a whole. */
export type DestinationUpdate = {
	/** Label shown to people. */
	displayName?: string | null;
	/** The kind of warehouse. `DuckDB` is embedded, a file on a volume. */
	type?: "BigQuery" | "DuckDB" | null;
	/** ServiceAccount of the Pods that load and check, for workload identity. The namespace's `default` when empty. */
	serviceAccountName?: string | null;
	/** A BigQuery dataset. */
	bigQuery?: {
		/** The Google Cloud project that holds the dataset. */
		projectId?: string | null;
		/** The dataset that holds the tables. */
		dataset?: string | null;
		/** Where the dataset is, such as `EU`, `US` or `europe-west1`. */
		location?: string | null;
		/** Make the dataset if it is not there. */
		createDataset?: boolean | null;
		/** A service account's key, where workload identity is not to be had. */
		credentials?: {
			/** The Secret that holds the JSON key. It must carry the label `tidemill.dev/use: "true"`. */
			secretRef?: {
				/** Name of the Secret, in the Destination's namespace. */
				name?: string | null;
				/** Key in the Secret's data. */
				key?: string | null;
			} | null;
			/** The service account's JSON key as text, instead of `secretRef`. It goes into a Secret and is never shown. */
			key?: string | null;
		} | null;
		/** Another address of the BigQuery API. It must be on the operator's allow-list. */
		apiEndpoint?: string | null;
		/** Name of a Cloud Storage bucket through which data goes up. Without one it is uploaded directly. */
		stagingBucket?: string | null;
	} | null;
	/** A DuckDB file. */
	duckDB?: {
		/** The file, relative to the volume. */
		path?: string | null;
		/** The PersistentVolumeClaim that holds the file. Required in a cluster; local mode has a folder instead. */
		volumeClaimName?: string | null;
	} | null;
};

/** One Source into one table of one Destination, on a schedule. */
export type Pipeline = {
	/** Name of the resource. It can't change. */
	name: string;
	/** When it was made. */
	creationTimestamp: string;
	/** What keeps the resource in step with a repository and will undo changes made here. Absent when nothing does. */
	managedBy?: "ArgoCD" | "Flux" | "Helm";
	/** The state in one word. */
	phase?: "Pending" | "Ready" | "Running" | "Suspended" | "Error";
	/** `Incremental`: runs replace the days they load. `FullReload`: runs replace the whole table. */
	strategy?: "Incremental" | "FullReload";
	/** Name of the table. */
	tableName?: string;
	/** When the schedule starts the next run. */
	nextRunTime?: string;
	/** The latest scheduled time for which a Run was made. */
	lastScheduleTime?: string;
	/** When the Pipeline runs. */
	schedule?: {
		/** `Manual`: only when a Run is made. `Daily`, `Interval` and `Cron`: by the clock as well. */
		type: "Manual" | "Daily" | "Interval" | "Cron";
		/** Time of day of a `Daily` schedule, such as `"06:30"`, in `timeZone`. */
		updateTime?: string;
		/** Time between runs of an `Interval` schedule, such as `15m` or `1h30m`. */
		interval?: string;
		/** A cron expression of five fields, in `timeZone`. Where clocks are put forward, times that don't exist run once, at the first instant after the gap; where they are put back, times that occur twice run the first time only. */
		cron?: string;
		/** An IANA time zone, such as `Europe/Berlin`, for `Daily` and `Cron`. */
		timeZone?: string;
	};
	/** Name of the Run that is under way. */
	activeRun?: string;
	/** The latest Run that ended. */
	lastRun?: {
		/** Name of the Run. */
		name: string;
		/** How it ended. */
		phase: "Succeeded" | "Failed" | "Cancelled";
		/** Rows that it loaded. */
		rows?: number;
		/** When it ended. */
		completionTime?: string;
	};
	/** What the table holds since the latest Run that succeeded. The days of the next run are counted from it. */
	lastSuccess?: {
		/** Every event accepted before this instant, on the dates loaded, is in the table. */
		snapshotTime: string;
		/** The latest date that was complete at that instant. */
		closedThrough: string;
		/** What was loaded where. When it changes, the next run loads every date. */
		layout: {
			/** The Source's `status.sourceKey`. */
			sourceKey: string;
			/** The warehouse, such as `DuckDB:analytics/events.duckdb`. */
			destination: string;
			/** Name of the table. */
			table: string;
			/** The table's columns, in order. */
			columns: Array<string>;
			/** How it is loaded. */
			strategy: "Incremental" | "FullReload";
		};
	};
	/** What the last Run could not load into the table, until another Run ends. */
	misfit?: {
		/** The Run's words. */
		message: string;
		/** What was to be loaded where. When it changes, the Pipeline is ready again. */
		layout: {
			/** The Source's `status.sourceKey`. */
			sourceKey: string;
			/** The warehouse, such as `DuckDB:analytics/events.duckdb`. */
			destination: string;
			/** Name of the table. */
			table: string;
			/** The table's columns, in order. */
			columns: Array<string>;
			/** How it is loaded. */
			strategy: "Incremental" | "FullReload";
		};
	};
	/** `Ready`: it can run; Unknown while what it refers to may be on its way. `RunSucceeded`: its last Run did. */
	conditions?: Array<{
		/** Type of the condition. */
		type: string;
		/** Whether the condition holds. */
		status: "True" | "False" | "Unknown";
		/** The metadata.generation that this condition speaks of. */
		observedGeneration?: number;
		/** When `status` last flipped. */
		lastTransitionTime: string;
		/** Why, in one word for machines. */
		reason: string;
		/** Why, and what to do, for people. */
		message: string;
	}>;
	/** Label shown to people. */
	displayName?: string;
	/** The Source whose events are loaded. */
	sourceRef: {
		/** Name of the Source, in the Pipeline's namespace. */
		name: string;
	};
	/** The Destination that holds the table. */
	destinationRef: {
		/** Name of the Destination, in the Pipeline's namespace. */
		name: string;
	};
	/** The table. */
	table?: {
		/** Name of the table. When empty, it is made from the Pipeline's name and stands in `status.tableName`. */
		name?: string;
		/** Which columns the table has, in this order; in the table they are called `event_id`, `timestamp`, `body` and `date`. Captured headers follow them. With `Date` each run replaces only the days it loads; without it, every run replaces the whole table. */
		columns?: Array<"EventID" | "Timestamp" | "Body" | "Date">;
		/** What happens when the table that is there does not fit the columns. `Fail`: the Pipeline is not ready and the table stays as it is. `Rebuild`: the table is dropped and made anew, so days that are no longer retained are lost. */
		onIncompatible?: "Fail" | "Rebuild";
	};
	/** Which UTC dates are loaded. Events are retained for 30 days; earlier dates can't be loaded. */
	dateRange?: {
		/** The first date. When empty, the date of the first event. Moved back later, it is not made up for, as little as moved forward it removes days: to load earlier dates into a table that is there, create a Run with `spec.dates`. */
		start?: string;
		/** The last date, or `Today` to go on for ever. */
		end?: string;
	};
	/** How many days before the first day that is not yet complete are loaded again by each run. */
	overwritePeriodDays?: number;
	/** Start no runs by the clock until this is false again. Runs made by hand still go. */
	suspend?: boolean;
	/** How late a missed run may still start, in seconds. Without it the latest missed run always does. One that may not is left out, which the Event `MissSchedule` tells. */
	startingDeadlineSeconds?: number;
	/** How many ended Runs are kept. */
	runHistory?: {
		/** Runs that succeeded. */
		succeeded?: number;
		/** Runs that failed or were cancelled. */
		failed?: number;
	};
	/** How the Job of a Run is made. */
	runTemplate?: {
		/** Compute resources of the container, as in a Pod. */
		resources?: {
			/** What the container is sure to get. */
			requests?: Record<string, number | string>;
			/** What the container can't go beyond. */
			limits?: Record<string, number | string>;
		};
		/** How long a Run may take, in seconds, all attempts together. */
		activeDeadlineSeconds?: number;
		/** How often a Run is tried again after an error that can pass. */
		retries?: number;
	};
};

/** A page of a list. */
export type PipelineList = {
	items: Array<Pipeline>;
	/** Ask for the next page with it. Absent on the last page. */
	cursor?: string;
};

/** A new Pipeline. Without a name one is made from the display name. */
export type PipelineCreate = {
	/** Name of the resource. It can't change. */
	name?: string;
	/** Label shown to people. */
	displayName?: string;
	/** The Source whose events are loaded. */
	sourceRef: {
		/** Name of the Source, in the Pipeline's namespace. */
		name: string;
	};
	/** The Destination that holds the table. */
	destinationRef: {
		/** Name of the Destination, in the Pipeline's namespace. */
		name: string;
	};
	/** The table. */
	table?: {
		/** Name of the table. When empty, it is made from the Pipeline's name and stands in `status.tableName`. */
		name?: string;
		/** Which columns the table has, in this order; in the table they are called `event_id`, `timestamp`, `body` and `date`. Captured headers follow them. With `Date` each run replaces only the days it loads; without it, every run replaces the whole table. */
		columns?: Array<"EventID" | "Timestamp" | "Body" | "Date">;
		/** What happens when the table that is there does not fit the columns. `Fail`: the Pipeline is not ready and the table stays as it is. `Rebuild`: the table is dropped and made anew, so days that are no longer retained are lost. */
		onIncompatible?: "Fail" | "Rebuild";
	};
	/** Which UTC dates are loaded. Events are retained for 30 days; earlier dates can't be loaded. */
	dateRange?: {
		/** The first date. When empty, the date of the first event. Moved back later, it is not made up for, as little as moved forward it removes days: to load earlier dates into a table that is there, create a Run with `spec.dates`. */
		start?: string;
		/** The last date, or `Today` to go on for ever. */
		end?: string;
	};
	/** How many days before the first day that is not yet complete are loaded again by each run. */
	overwritePeriodDays?: number;
	/** When the Pipeline runs. */
	schedule?: {
		/** `Manual`: only when a Run is made. `Daily`, `Interval` and `Cron`: by the clock as well. */
		type: "Manual" | "Daily" | "Interval" | "Cron";
		/** Time of day of a `Daily` schedule, such as `"06:30"`, in `timeZone`. */
		updateTime?: string;
		/** Time between runs of an `Interval` schedule, such as `15m` or `1h30m`. */
		interval?: string;
		/** A cron expression of five fields, in `timeZone`. Where clocks are put forward, times that don't exist run once, at the first instant after the gap; where they are put back, times that occur twice run the first time only. */
		cron?: string;
		/** An IANA time zone, such as `Europe/Berlin`, for `Daily` and `Cron`. */
		timeZone?: string;
	};
	/** Start no runs by the clock until this is false again. Runs made by hand still go. */
	suspend?: boolean;
	/** How late a missed run may still start, in seconds. Without it the latest missed run always does. One that may not is left out, which the Event `MissSchedule` tells. */
	startingDeadlineSeconds?: number;
	/** How many ended Runs are kept. */
	runHistory?: {
		/** Runs that succeeded. */
		succeeded?: number;
		/** Runs that failed or were cancelled. */
		failed?: number;
	};
	/** How the Job of a Run is made. */
	runTemplate?: {
		/** Compute resources of the container, as in a Pod. */
		resources?: {
			/** What the container is sure to get. */
			requests?: Record<string, number | string>;
			/** What the container can't go beyond. */
			limits?: Record<string, number | string>;
		};
		/** How long a Run may take, in seconds, all attempts together. */
		activeDeadlineSeconds?: number;
		/** How often a Run is tried again after an error that can pass. */
		retries?: number;
	};
};

/** A JSON Merge Patch (RFC 7396): null removes a field, lists are replaced as a whole. */
export type PipelineUpdate = {
	/** Label shown to people. */
	displayName?: string | null;
	/** The Source whose events are loaded. */
	sourceRef?: {
		/** Name of the Source, in the Pipeline's namespace. */
		name?: string | null;
	} | null;
	/** The Destination that holds the table. */
	destinationRef?: {
		/** Name of the Destination, in the Pipeline's namespace. */
		name?: string | null;
	} | null;
	/** The table. */
	table?: {
		/** Name of the table. When empty, it is made from the Pipeline's name and stands in `status.tableName`. */
		name?: string | null;
		/** Which columns the table has, in this order; in the table they are called `event_id`, `timestamp`, `body` and `date`. Captured headers follow them. With `Date` each run replaces only the days it loads; without it, every run replaces the whole table. */
		columns?: Array<"EventID" | "Timestamp" | "Body" | "Date"> | null;
		/** What happens when the table that is there does not fit the columns. `Fail`: the Pipeline is not ready and the table stays as it is. `Rebuild`: the table is dropped and made anew, so days that are no longer retained are lost. */
		onIncompatible?: "Fail" | "Rebuild" | null;
	} | null;
	/** Which UTC dates are loaded. Events are retained for 30 days; earlier dates can't be loaded. */
	dateRange?: {
		/** The first date. When empty, the date of the first event. Moved back later, it is not made up for, as little as moved forward it removes days: to load earlier dates into a table that is there, create a Run with `spec.dates`. */
		start?: string | null;
		/** The last date, or `Today` to go on for ever. */
		end?: string | null;
	} | null;
	/** How many days before the first day that is not yet complete are loaded again by each run. */
	overwritePeriodDays?: number | null;
	/** When the Pipeline runs. */
	schedule?: {
		/** `Manual`: only when a Run is made. `Daily`, `Interval` and `Cron`: by the clock as well. */
		type?: "Manual" | "Daily" | "Interval" | "Cron" | null;
		/** Time of day of a `Daily` schedule, such as `"06:30"`, in `timeZone`. */
		updateTime?: string | null;
		/** Time between runs of an `Interval` schedule, such as `15m` or `1h30m`. */
		interval?: string | null;
		/** A cron expression of five fields, in `timeZone`. Where clocks are put forward, times that don't exist run once, at the first instant after the gap; where they are put back, times that occur twice run the first time only. */
		cron?: string | null;
		/** An IANA time zone, such as `Europe/Berlin`, for `Daily` and `Cron`. */
		timeZone?: string | null;
	} | null;
	/** Start no runs by the clock until this is false again. Runs made by hand still go. */
	suspend?: boolean | null;
	/** How late a missed run may still start, in seconds. Without it the latest missed run always does. One that may not is left out, which the Event `MissSchedule` tells. */
	startingDeadlineSeconds?: number | null;
	/** How many ended Runs are kept. */
	runHistory?: {
		/** Runs that succeeded. */
		succeeded?: number | null;
		/** Runs that failed or were cancelled. */
		failed?: number | null;
	} | null;
	/** How the Job of a Run is made. */
	runTemplate?: {
		/** Compute resources of the container, as in a Pod. */
		resources?: {
			/** What the container is sure to get. */
			requests?: Record<string, number | string> | null;
			/** What the container can't go beyond. */
			limits?: Record<string, number | string> | null;
		} | null;
		/** How long a Run may take, in seconds, all attempts together. */
		activeDeadlineSeconds?: number | null;
		/** How often a Run is tried again after an error that can pass. */
		retries?: number | null;
	} | null;
};

/** What a Source's events should look like, and what happens to those that don't. */
export type TrackingPlan = {
	/** Name of the resource. It can't change. */
	name: string;
	/** When it was made. */
	creationTimestamp: string;
	/** What keeps the resource in step with a repository and will undo changes made here. Absent when nothing does. */
	managedBy?: "ArgoCD" | "Flux" | "Helm";
	/** How many types of events are planned. */
	eventTypes?: number;
	/** `Ready`: every schema of the plan is valid. */
	conditions?: Array<{
		/** Type of the condition. */
		type: string;
		/** Whether the condition holds. */
		status: "True" | "False" | "Unknown";
		/** The metadata.generation that this condition speaks of. */
		observedGeneration?: number;
		/** When `status` last flipped. */
		lastTransitionTime: string;
		/** Why, in one word for machines. */
		reason: string;
		/** Why, and what to do, for people. */
		message: string;
	}>;
	/** Label shown to people. */
	displayName?: string;
	/** Where an event's type is found. Exactly one of the fields. */
	eventType: {
		/** JSON Pointer (RFC 6901) into the body, such as `/event/type`. */
		bodyPointer?: string;
		/** Request header, in lower case, such as `x-github-event`. */
		header?: string;
		/** Every event is of this type. */
		constant?: string;
	};
	/** JSON Schema of every event, whatever its type. */
	common?: Record<string, unknown>;
	/** The types of events that are planned. */
	events?: Array<{
		/** The type's name. */
		type: string;
		/** What the event means. */
		description?: string;
		/** JSON Schema of the body. */
		schema?: Record<string, unknown>;
	}>;
	/** What happens to an event of a type that is not planned. `Allow`: nothing. `Annotate`: it is stored with a note. `Quarantine`: it is kept aside and loaded into no table. `Reject`: it is answered with 400 and not stored. */
	onUnplannedEvent?: "Allow" | "Annotate" | "Quarantine" | "Reject";
	/** What happens to an event that breaks its schema; as `onUnplannedEvent`. */
	onViolation?: "Allow" | "Annotate" | "Quarantine" | "Reject";
	/** What happens to an event with a property that its schema doesn't know; as `onUnplannedEvent`, and with `Omit` the property is left out of the plan's columns. */
	onUnplannedProperty?: "Allow" | "Annotate" | "Omit" | "Quarantine" | "Reject";
};

/** A page of a list. */
export type TrackingPlanList = {
	items: Array<TrackingPlan>;
	/** Ask for the next page with it. Absent on the last page. */
	cursor?: string;
};

/** A new TrackingPlan. Without a name one is made from the display name. */
export type TrackingPlanCreate = {
	/** Name of the resource. It can't change. */
	name?: string;
	/** Label shown to people. */
	displayName?: string;
	/** Where an event's type is found. Exactly one of the fields. */
	eventType: {
		/** JSON Pointer (RFC 6901) into the body, such as `/event/type`. */
		bodyPointer?: string;
		/** Request header, in lower case, such as `x-github-event`. */
		header?: string;
		/** Every event is of this type. */
		constant?: string;
	};
	/** JSON Schema of every event, whatever its type. */
	common?: Record<string, unknown>;
	/** The types of events that are planned. */
	events?: Array<{
		/** The type's name. */
		type: string;
		/** What the event means. */
		description?: string;
		/** JSON Schema of the body. */
		schema?: Record<string, unknown>;
	}>;
	/** What happens to an event of a type that is not planned. `Allow`: nothing. `Annotate`: it is stored with a note. `Quarantine`: it is kept aside and loaded into no table. `Reject`: it is answered with 400 and not stored. */
	onUnplannedEvent?: "Allow" | "Annotate" | "Quarantine" | "Reject";
	/** What happens to an event that breaks its schema; as `onUnplannedEvent`. */
	onViolation?: "Allow" | "Annotate" | "Quarantine" | "Reject";
	/** What happens to an event with a property that its schema doesn't know; as `onUnplannedEvent`, and with `Omit` the property is left out of the plan's columns. */
	onUnplannedProperty?: "Allow" | "Annotate" | "Omit" | "Quarantine" | "Reject";
};

/** A JSON Merge Patch (RFC 7396): null removes a field, lists are replaced as a whole. */
export type TrackingPlanUpdate = {
	/** Label shown to people. */
	displayName?: string | null;
	/** Where an event's type is found. Exactly one of the fields. */
	eventType?: {
		/** JSON Pointer (RFC 6901) into the body, such as `/event/type`. */
		bodyPointer?: string | null;
		/** Request header, in lower case, such as `x-github-event`. */
		header?: string | null;
		/** Every event is of this type. */
		constant?: string | null;
	} | null;
	/** JSON Schema of every event, whatever its type. */
	common?: Record<string, unknown> | null;
	/** The types of events that are planned. */
	events?: Array<{
		/** The type's name. */
		type: string;
		/** What the event means. */
		description?: string;
		/** JSON Schema of the body. */
		schema?: Record<string, unknown>;
	}> | null;
	/** What happens to an event of a type that is not planned. `Allow`: nothing. `Annotate`: it is stored with a note. `Quarantine`: it is kept aside and loaded into no table. `Reject`: it is answered with 400 and not stored. */
	onUnplannedEvent?: "Allow" | "Annotate" | "Quarantine" | "Reject" | null;
	/** What happens to an event that breaks its schema; as `onUnplannedEvent`. */
	onViolation?: "Allow" | "Annotate" | "Quarantine" | "Reject" | null;
	/** What happens to an event with a property that its schema doesn't know; as `onUnplannedEvent`, and with `Omit` the property is left out of the plan's columns. */
	onUnplannedProperty?: "Allow" | "Annotate" | "Omit" | "Quarantine" | "Reject" | null;
};

/** One execution of a Pipeline, carried out by a Job. */
export type Run = {
	/** Name of the resource. It can't change. */
	name: string;
	/** When it was made. */
	creationTimestamp: string;
	/** What keeps the resource in step with a repository and will undo changes made here. Absent when nothing does. */
	managedBy?: "ArgoCD" | "Flux" | "Helm";
	/** Name of the Pipeline. */
	pipeline: string;
	/** The state in one word. */
	status: "pending" | "running" | "succeeded" | "failed" | "cancelled";
	/** Stop the Run. Days that are already replaced stay replaced. Can't be taken back. */
	cancel?: boolean;
	/** Who made the Run: the schedule, the REST API, or a person by kubectl. */
	trigger?: "Schedule" | "API" | "Manual";
	/** When its Job was made. */
	startTime?: string;
	/** When it ended. */
	completionTime?: string;
	/** `Incremental`: it replaces the days it loads. `FullReload`: it replaces the whole table. */
	strategy?: "Incremental" | "FullReload";
	/** The UTC dates it loads, both included. */
	dates?: {
		/** The first date. */
		start: string;
		/** The last date. */
		end: string;
	};
	/** Rows loaded. */
	rows?: number;
	/** Bytes read from the bucket. */
	bytes?: number;
	/** Objects read from the bucket. */
	objects?: number;
	/** Every event accepted before this instant, on the dates loaded, is in the table when the Run has succeeded. */
	snapshotTime?: string;
	/** The latest date that was complete at that instant. */
	closedThrough?: string;
	/** What is loaded where, as the Pipeline said when the Run began. */
	layout?: {
		/** The Source's `status.sourceKey`. */
		sourceKey: string;
		/** The warehouse, such as `DuckDB:analytics/events.duckdb`. */
		destination: string;
		/** Name of the table. */
		table: string;
		/** The table's columns, in order. */
		columns: Array<string>;
		/** How it is loaded. */
		strategy: "Incremental" | "FullReload";
	};
	/** How many Pods have tried. */
	attempts?: number;
	/** Why it failed. */
	error?: {
		/** What kind of error, from the table in docs/reference/errors.md. */
		code: string;
		/** What happened, to what, and what to do next. */
		message: string;
		/** Another Run may succeed without any change. */
		retryable: boolean;
	};
	/** `Complete`: the Run has succeeded. `Failed`: it has failed or was cancelled. As in a Job. */
	conditions?: Array<{
		/** Type of the condition. */
		type: string;
		/** Whether the condition holds. */
		status: "True" | "False" | "Unknown";
		/** The metadata.generation that this condition speaks of. */
		observedGeneration?: number;
		/** When `status` last flipped. */
		lastTransitionTime: string;
		/** Why, in one word for machines. */
		reason: string;
		/** Why, and what to do, for people. */
		message: string;
	}>;
};

/** A page of a list. */
export type RunList = {
	items: Array<Run>;
	/** Ask for the next page with it. Absent on the last page. */
	cursor?: string;
};

/** Which days to load. By the pipeline's own rules when empty. */
export type RunStart = {
	/** Load just these UTC dates, both included. Can't change. Without it the Pipeline's rules say which. */
	dates?: {
		/** The first date. */
		start: string;
		/** The last date. */
		end: string;
	};
};

/** How far a run is. Fields are absent as long as they aren't known. */
export type RunProgress = {
	/** The state in one word. */
	status: "pending" | "running" | "succeeded" | "failed" | "cancelled";
	/** Days that are loaded. */
	daysDone?: number;
	/** Days to load. */
	daysTotal?: number;
	/** Rows that are loaded. */
	rowsDone?: number;
	/** Rows to load. */
	rowsTotal?: number;
};

/** What went wrong, and what to do next. */
export type Error = {
	is_success: false;
	error: {
		/** For machines. A code never changes its name. */
		code: "InvalidRequest" | "AccountRequired" | "Unauthorized" | "Forbidden" | "NotFound" | "MethodNotAllowed" | "NotAcceptable" | "Conflict" | "CursorExpired" | "PreconditionFailed" | "TooLarge" | "UnsupportedContentType" | "RateLimited" | "Internal" | "Unavailable";
		/** For people. */
		message: string;
		/** Everything that is wrong, where fields are to blame. */
		details: Array<{
			/** The field as in the request's body, such as `dates.start`; else the query parameter or header. */
			path: string;
			message: string;
		}>;
	};
};

/** What each operation takes and answers, by its operationId. */
export interface Operations {
	/** List sources. */
	listSources: {
		method: "GET";
		path: "/v1/sources";
		query: { limit?: string; cursor?: string };
		body: undefined;
		answer: SourceList;
	};
	/** Make a source. */
	createSource: {
		method: "POST";
		path: "/v1/sources";
		query: {  };
		body: SourceCreate;
		answer: Source;
	};
	/** Show a source. */
	getSource: {
		method: "GET";
		path: "/v1/sources/{name}";
		query: {  };
		body: undefined;
		answer: Source;
	};
	/** Change a source. */
	updateSource: {
		method: "PATCH";
		path: "/v1/sources/{name}";
		query: {  };
		body: SourceUpdate;
		answer: Source;
	};
	/** Delete a source. */
	deleteSource: {
		method: "DELETE";
		path: "/v1/sources/{name}";
		query: {  };
		body: undefined;
		answer: Source | void;
	};
	/** List destinations. */
	listDestinations: {
		method: "GET";
		path: "/v1/destinations";
		query: { limit?: string; cursor?: string };
		body: undefined;
		answer: DestinationList;
	};
	/** Make a destination. */
	createDestination: {
		method: "POST";
		path: "/v1/destinations";
		query: {  };
		body: DestinationCreate;
		answer: Destination;
	};
	/** Show a destination. */
	getDestination: {
		method: "GET";
		path: "/v1/destinations/{name}";
		query: {  };
		body: undefined;
		answer: Destination;
	};
	/** Change a destination. */
	updateDestination: {
		method: "PATCH";
		path: "/v1/destinations/{name}";
		query: {  };
		body: DestinationUpdate;
		answer: Destination;
	};
	/** Delete a destination. */
	deleteDestination: {
		method: "DELETE";
		path: "/v1/destinations/{name}";
		query: {  };
		body: undefined;
		answer: Destination | void;
	};
	/** List pipelines. */
	listPipelines: {
		method: "GET";
		path: "/v1/pipelines";
		query: { limit?: string; cursor?: string };
		body: undefined;
		answer: PipelineList;
	};
	/** Make a pipeline. */
	createPipeline: {
		method: "POST";
		path: "/v1/pipelines";
		query: {  };
		body: PipelineCreate;
		answer: Pipeline;
	};
	/** Show a pipeline. */
	getPipeline: {
		method: "GET";
		path: "/v1/pipelines/{name}";
		query: {  };
		body: undefined;
		answer: Pipeline;
	};
	/** Change a pipeline. */
	updatePipeline: {
		method: "PATCH";
		path: "/v1/pipelines/{name}";
		query: {  };
		body: PipelineUpdate;
		answer: Pipeline;
	};
	/** Delete a pipeline. */
	deletePipeline: {
		method: "DELETE";
		path: "/v1/pipelines/{name}";
		query: {  };
		body: undefined;
		answer: Pipeline | void;
	};
	/** List tracking plans. */
	listTrackingPlans: {
		method: "GET";
		path: "/v1/tracking-plans";
		query: { limit?: string; cursor?: string };
		body: undefined;
		answer: TrackingPlanList;
	};
	/** Make a tracking plan. */
	createTrackingPlan: {
		method: "POST";
		path: "/v1/tracking-plans";
		query: {  };
		body: TrackingPlanCreate;
		answer: TrackingPlan;
	};
	/** Show a tracking plan. */
	getTrackingPlan: {
		method: "GET";
		path: "/v1/tracking-plans/{name}";
		query: {  };
		body: undefined;
		answer: TrackingPlan;
	};
	/** Change a tracking plan. */
	updateTrackingPlan: {
		method: "PATCH";
		path: "/v1/tracking-plans/{name}";
		query: {  };
		body: TrackingPlanUpdate;
		answer: TrackingPlan;
	};
	/** Delete a tracking plan. */
	deleteTrackingPlan: {
		method: "DELETE";
		path: "/v1/tracking-plans/{name}";
		query: {  };
		body: undefined;
		answer: TrackingPlan | void;
	};
	/** Start a run of a pipeline. */
	startRun: {
		method: "POST";
		path: "/v1/pipelines/{name}/run";
		query: {  };
		body: RunStart | undefined;
		answer: Run;
	};
	/** List runs. */
	listRuns: {
		method: "GET";
		path: "/v1/runs";
		query: { pipeline?: string; limit?: string; cursor?: string };
		body: undefined;
		answer: RunList;
	};
	/** Show a run, or wait for its end. */
	getRun: {
		method: "GET";
		path: "/v1/runs/{name}";
		query: { wait?: string };
		body: undefined;
		answer: Run;
	};
	/** Cancel a run. */
	cancelRun: {
		method: "POST";
		path: "/v1/runs/{name}/cancel";
		query: {  };
		body: undefined;
		answer: Run;
	};
	/** Read a run's log. */
	getRunLogs: {
		method: "GET";
		path: "/v1/runs/{name}/logs";
		query: { tail?: string; follow?: string };
		body: undefined;
		answer: string;
	};
	/** Show how far a run is. */
	getRunProgress: {
		method: "GET";
		path: "/v1/runs/{name}/progress";
		query: {  };
		body: undefined;
		answer: RunProgress;
	};
}
