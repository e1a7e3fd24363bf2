# One image for all roles; Java, Spark and its jars are in the target `spark` only.
#
#   docker build -t podium:0.1.0 .
#   docker build -t podium:0.1.0-spark --target spark .
#
# docs/release.md says how an image is signed and verified.

ARG PYTHON=python:3.11-slim-bookworm

FROM ${PYTHON} AS build
# What kernels are compiled for: every x86-64 since 2013. For arm64: neoverse-n1.
ARG NUMBA_CPU_NAME=x86-64-v3
ENV ROOT=/opt/podium \
    NUMBA_CPU_NAME=${NUMBA_CPU_NAME} \
    NUMBA_CPU_FEATURES="" \
    NUMBA_CACHE_DIR=/opt/podium/kernels \
    PIP_DISABLE_PIP_VERSION_CHECK=1
SHELL ["/bin/sh", "-ec"]
WORKDIR /src
COPY image/podium.lock image/podium.lock
RUN python -m venv --without-pip "$ROOT"; \
    python -m pip --python "$ROOT/bin/python" install --no-cache-dir --no-compile \
        --require-hashes --only-binary :all: --requirement image/podium.lock
COPY . .
# Whole seconds, because layers keep no more, and numba asks whether a source is the one it compiled.
RUN packages="$("$ROOT/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"; \
    sh image/install "$packages" "$ROOT/bin"; \
    find "$packages" -exec touch --no-dereference --date @1700000000 {} +; \
    "$ROOT/bin/python" -m compileall -q --invalidation-mode unchecked-hash "$packages"
# Not from the sources around (-P), but as they are installed.
RUN mkdir -p "$NUMBA_CACHE_DIR"; "$ROOT/bin/python" -P -m workers.warm_up

FROM build AS build-spark
# PySpark comes as a source package: it is built by the setuptools that the project pins.
RUN python -I image/pinned.py setuptools > /tmp/setuptools.lock; \
    python -m venv /tmp/builder; \
    /tmp/builder/bin/pip install --no-cache-dir --require-hashes --requirement /tmp/setuptools.lock; \
    /tmp/builder/bin/pip wheel --no-cache-dir --no-deps --require-hashes --no-build-isolation \
        --wheel-dir /tmp/wheels --requirement image/spark.lock; \
    python -m pip --python "$ROOT/bin/python" install --no-cache-dir --no-compile --no-index \
        --no-deps /tmp/wheels/*
# hadolint ignore=DL3008
RUN apt-get update; \
    apt-get install -y --no-install-recommends maven openjdk-17-jre-headless; \
    rm -rf /var/lib/apt/lists/*
ENV XDG_CACHE_HOME=/opt/podium/cache
RUN "$ROOT/bin/python" -c 'from podium.stack.setup.jars import ensure_jars; print(ensure_jars(print))'; \
    ln -s "$ROOT"/cache/podium/jars/*/spark "$ROOT/jars"; \
    ln -s "$ROOT"/lib/python3*/site-packages/spark_streaming/jobs.py "$ROOT/jobs.py"; \
    cp image/spark-entrypoint "$ROOT/bin/spark-entrypoint"

FROM ${PYTHON} AS roles
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG NUMBA_CPU_NAME=x86-64-v3
LABEL org.opencontainers.image.title="Podium" \
      org.opencontainers.image.description="Ranked publish/subscribe on Kafka" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
SHELL ["/bin/sh", "-ec"]
# Spark asks for the name of its user. What installs packages is not needed any more.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin podium; \
    python -m pip uninstall --yes --root-user-action ignore setuptools wheel pip
ENV PATH=/opt/podium/bin:${PATH} \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NUMBA_CPU_NAME=${NUMBA_CPU_NAME} \
    NUMBA_CPU_FEATURES="" \
    NUMBA_CACHE_DIR=/opt/podium/kernels
WORKDIR /tmp
ENTRYPOINT ["podium"]

FROM roles AS spark
# hadolint ignore=DL3008
RUN apt-get update; \
    apt-get install -y --no-install-recommends openjdk-17-jre-headless; \
    rm -rf /var/lib/apt/lists/*
COPY --from=build-spark /opt/podium /opt/podium
ENV XDG_CACHE_HOME=/opt/podium/cache
USER 10001:10001
ENTRYPOINT ["spark-entrypoint"]

FROM roles AS podium
COPY --from=build --chown=0:0 /opt/podium /opt/podium
USER 10001:10001
