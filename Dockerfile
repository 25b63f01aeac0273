# Understudy in a container: one static-enough executable on scratch, no shell, no root, nothing to write but /data.
#   docker build -t understudy .
#   docker run -p 4010:4010 -e UNDERSTUDY_TOKEN=secret -v understudy:/data --read-only understudy

FROM --platform=$BUILDPLATFORM node:22-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
ARG TARGETARCH
RUN npm run build -- --platform linux-$(test "$TARGETARCH" = arm64 && echo arm64 || echo x64)-musl
RUN mkdir -p /image/data && cp dist/understudy-linux-*-musl /image/understudy

# The C library and what C++ needs, which the musl build links at run time.
FROM alpine:3.20 AS libraries
RUN apk add --no-cache libstdc++ libgcc

FROM scratch
