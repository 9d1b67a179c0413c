"""Experiments: check, launch, list, stop, note, delete."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from backend.experiments.errors import SpecificationError
from backend.experiments.specification import Specification, parse
from backend.service import answers, estimates
from backend.service.audit import note
from backend.service.context import Here
from backend.service.problems import Problem
