# The image of all roles: Node, the libraries it needs, the program and DuckDB. There is no shell and no package manager.
# Another builder with Node 26 and glibc: --build-arg BUILDER=…   A release names this one by its digest (tools/image/builder-digest.sh).
ARG BUILDER=docker.io/library/node:26-bookworm

FROM ${BUILDER} AS files
WORKDIR /src
COPY . .
# DuckDB is a package per platform. Install scripts aren't needed: the builder has a Node.
RUN npm ci --no-progress --ignore-scripts
RUN npm run console:build && node tools/image/root-directory.ts /image

FROM scratch
COPY --from=files /image/ /
ARG VERSION=0.0.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
# https://specs.opencontainers.org/image-spec/annotations/
LABEL org.opencontainers.image.title="Tidemill" \
      org.opencontainers.image.description="Webhooks into your data warehouse, minutes later, on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
ENV NODE_ENV=production \
    HOME=/tmp \
    API_CONSOLE_FILES=/app/console
USER 1000:1000
WORKDIR /app
ENTRYPOINT ["tidemill"]
