# partner-etl in an image of its own: the receiver and the schedule by default, any other command by its name.
# glibc is needed: DuckDB's binary has no build for musl, so Alpine will not do.

FROM node:24.21.0-trixie-slim AS build
WORKDIR /build
# Install scripts are left out: the one of this package builds, and there is nothing to build yet.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json rolldown.config.ts ./
COPY src src
COPY pipelines pipelines
RUN npm run build
RUN npm ci --ignore-scripts --omit=dev

FROM node:24.21.0-trixie-slim
LABEL org.opencontainers.image.title="partner-etl"
ENV NODE_ENV=production \
    PARTNER_ETL_HOME=/data \
    PARTNER_ETL_CONFIG=/app/config/container.yaml
COPY --from=build /build/node_modules /app/node_modules
COPY --from=build /build/dist /app/dist
COPY package.json /app/package.json
COPY bin /app/bin
COPY config /app/config
COPY sql /app/sql
COPY src/serve/page/assets /app/src/serve/page/assets
# Everything under /app belongs to root: the program cannot change itself. Only /data is written to, and /tmp.
RUN ln -s /app/bin/partner-etl.js /usr/local/bin/partner-etl \
    && install -d -o node -g node -m 700 /data
USER node
WORKDIR /data
VOLUME /data
# 8420: health and metrics; 8421: the receiver of push messages.
EXPOSE 8420 8421
# Alive, not ready: a night that was missed is no reason to start the container afresh.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch('http://127.0.0.1:8420/healthz/live').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/partner-etl.js"]
CMD ["serve"]
