# syntax=docker/dockerfile:1
# The image that serves, executes for Spark on Kubernetes, and backs up:
#
#     docker build --tag adalog .
#     docker run --read-only --volume adalog:/data --volume ./tokens:/etc/adalog/tokens:ro --env ADALOG_AUTH=/etc/adalog/tokens \
#         --publish 127.0.0.1:8080:8080 adalog
#
# Stages: the libraries, whose hashes are known; the documentation; adalog itself with compiled kernels; and what runs. A
# change of the code renews the small layer alone.

ARG PYTHON=3.11
ARG DEBIAN=bookworm

FROM python:${PYTHON}-slim-${DEBIAN} AS libraries
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PYTHONWARNINGS=ignore
COPY requirements/build.lock requirements/otel.lock /build/
# Those of the build are for packages that come as sources; the environment does not keep them.
RUN python -m venv --without-pip /opt/libraries \
    && pip --python /opt/libraries/bin/python install --require-hashes --requirement /build/build.lock \
    && pip --python /opt/libraries/bin/python install --require-hashes --no-build-isolation --requirement /build/otel.lock \
    && pip --python /opt/libraries/bin/python uninstall --yes --requirement /build/build.lock \
    && rm -r /opt/libraries/lib/python3*/site-packages/pyspark/examples \
    && ln -s /opt/libraries/lib/python3*/site-packages/pyspark /opt/libraries/spark

FROM python:${PYTHON}-slim-${DEBIAN} AS documentation
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements/docs.lock /build/
RUN python -m venv --without-pip /build/documentation \
    && pip --python /build/documentation/bin/python install --require-hashes --requirement /build/docs.lock
COPY CHANGELOG.md CONTRIBUTING.md SECURITY.md /build/adalog/
COPY clients/js/README.md /build/adalog/clients/js/
COPY helm/adalog/README.md /build/adalog/helm/adalog/
COPY examples /build/adalog/examples
COPY docs /build/adalog/docs
RUN /build/documentation/bin/python /build/adalog/docs/site/build.py /build/adalog/gateway/documentation/site.zip

FROM libraries AS code
RUN pip --python /opt/libraries/bin/python install --require-hashes --requirement /build/build.lock
COPY pyproject.toml README.md LICENSE /build/adalog/
COPY src /build/adalog/src
COPY datalog /build/adalog/datalog
COPY docs/reference/builtins.md /build/adalog/docs/reference/builtins.md
COPY store /build/adalog/store
COPY cluster /build/adalog/cluster
COPY planner /build/adalog/planner
COPY pipeline /build/adalog/pipeline
COPY executor /build/adalog/executor
COPY schema /build/adalog/schema
COPY gateway /build/adalog/gateway
COPY examples /build/adalog/examples
COPY clients/python /build/adalog/clients/python
COPY --from=documentation /build/adalog/gateway/documentation/site.zip /build/adalog/gateway/documentation/site.zip
RUN pip --python /opt/libraries/bin/python install --no-deps --no-build-isolation --target /opt/adalog /build/adalog
COPY --chmod=0555 helm/image/entrypoint.sh /opt/adalog/bin/adalog-entrypoint
# Kernels for any processor of the architecture: those for the building machine's own would be compiled anew on others.
ARG KERNELS_CPU=generic
ENV NUMBA_CPU_NAME=${KERNELS_CPU} NUMBA_CPU_FEATURES="" PYTHONPATH=/opt/adalog
RUN NUMBA_CACHE_DIR=/opt/adalog/adalog/executor/kernels/compiled /opt/libraries/bin/python -m adalog.executor.warm

FROM python:${PYTHON}-slim-${DEBIAN}
ARG JAVA=17
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates openjdk-${JAVA}-jre-headless tini \
    && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log \
    && useradd --uid 10001 --user-group --home-dir /tmp --no-create-home --shell /usr/sbin/nologin adalog \
    && install --directory --owner adalog --group adalog --mode 0700 /data
COPY --from=libraries /opt/libraries /opt/libraries
COPY --from=code /opt/adalog /opt/adalog

ARG VERSION=""
ARG REVISION=""
LABEL org.opencontainers.image.title="adalog" \
      org.opencontainers.image.description="A GraphQL gateway over a live Datalog database" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

ARG KERNELS_CPU=generic
ENV PATH=/opt/adalog/bin:/opt/libraries/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONPATH=/opt/adalog PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    SPARK_HOME=/opt/libraries/spark SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt HOME=/tmp \
    NUMBA_CPU_NAME=${KERNELS_CPU} NUMBA_CPU_FEATURES="" \
    ADALOG_DATA=/data/adalog ADALOG_HOST=0.0.0.0 ADALOG_PORT=8080
USER 10001:10001
WORKDIR /tmp
VOLUME ["/data", "/tmp"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python3", "-I", "-S", "-c", "import os, urllib.request; urllib.request.urlopen('http://localhost:' + os.environ['ADALOG_PORT'] + '/healthz', timeout=4)"]
# Spark's processes start children of their own; tini reaps them.
ENTRYPOINT ["tini", "--", "adalog-entrypoint"]
CMD ["serve"]
