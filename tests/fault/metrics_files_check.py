#!/usr/bin/env python3
"""tests/fault/metrics_files_check.py - the files of deploy/metrics fit hoopd

metrics_files_check.py HOOPD MEMBER FOLDER: each metric, label and value that the dashboard
and the alerts name is on the page of a hoopd with a job. promtool, if it is there, must
accept the page and the alerts, and their own tests must pass.
"""

import json
import re
import shutil
import subprocess
import sys
import urllib.request

from job_metrics_check import Job, check_joined
from programs import Wrong, check_main

SKIPPED = 77
# What Grafana puts in place of a value.
VARIABLE = re.compile(r'\$\w+')


def expressions_of(dashboard):
    """Of all panels and variables, wherever they are."""
    if isinstance(dashboard, dict):
        for key, value in dashboard.items():
            if key in ('expr', 'query') and isinstance(value, str):
                yield value
            else:
                yield from expressions_of(value)
    elif isinstance(dashboard, list):
        for value in dashboard:
            yield from expressions_of(value)


def check_expression(where, expression, page):
    """page is {metric: {label: values}}."""
    metrics = set(re.findall(r'\bhoop_(?!job\b)\w+', expression))
    if not metrics and 'hoop' in expression:
        raise Wrong(f'{where} names no metric: {expression}')
    if metrics - page.keys():
        raise Wrong(f'{where} names {metrics - page.keys()}, which hoopd does not tell: '
                    f'{expression}')
    for metric, matchers in re.findall(r'(\bhoop_\w+)\{([^}]*)\}', expression):
        for label, value in re.findall(r'(\w+)(?:=|!=|=~|!~)"([^"]*)"', matchers):
            values = page[metric].get(label, set())
            if not values or not (VARIABLE.fullmatch(value) or value in values):
                raise Wrong(f'{where}: {metric} has no {label}="{value}": {expression}')
    for labels in re.findall(r'\bby \(([^)]*)\)', expression):
        for label in re.split(r', *', labels):
            if not any(label in page[metric] for metric in metrics):
                raise Wrong(f'{where}: none of {metrics} has a label {label}')


def page_read(text):
    page = {name: {} for name in re.findall(r'^# TYPE (\w+) ', text, re.MULTILINE)}
    for name, labels in re.findall(r'^(\w+)\{(.*)\} ', text, re.MULTILINE):
        for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels):
            page.setdefault(name, {}).setdefault(label, set()).add(value)
    return page


def promtool(*arguments, **options):
    done = subprocess.run(['promtool', *arguments], text=True, check=False, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise Wrong(f'promtool {" ".join(arguments)}: {done.stdout}')


def check_files(text, files):
    page = page_read(text)
    n_expressions = 0
    with open(f'{files}/grafana.json', encoding='utf-8') as dashboard:
        for expression in expressions_of(json.load(dashboard)):
            n_expressions += 'hoop' in expression
            check_expression('grafana.json', expression, page)
    with open(f'{files}/alerts.yml', encoding='utf-8') as alerts:
        rules = re.split(r'- alert: ', alerts.read())[1:]
    for rule in rules:
        expression = re.search(r'expr: (.*?)\n +(?:for|labels):', rule, re.DOTALL)
        check_expression(f'alerts.yml: {rule.split()[0]}', expression.group(1), page)
    if n_expressions < 8 or len(rules) < 6:
        raise Wrong(f'only {n_expressions} expressions and {len(rules)} rules were found')


def check(programs, folder):
    job = Job(programs, folder, {})
    try:
        job.begin()
        check_joined(job)
        with urllib.request.urlopen(f'http://{job.http}/metrics', timeout=30) as page:
            text = page.read().decode()
    finally:
        job.end()
    check_files(text, sys.argv[3])
    if not shutil.which('promtool'):
        print('promtool is not there (deploy/install-deps.sh ci): '
              'the syntax of the rules was not checked')
        sys.exit(SKIPPED)
    promtool('check', 'metrics', input=text)
    promtool('check', 'rules', f'{sys.argv[3]}/alerts.yml')
    promtool('test', 'rules', f'{sys.argv[3]}/alerts_test.yml')


if __name__ == '__main__':
    check_main('metrics_files_check', check)
